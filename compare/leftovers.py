"""Files that a killed program left. A lock distinguishes them from those in use: it ends with its process."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

MARK = ".in-use"
"""The lock file of a folder; the program that uses the folder holds the lock."""


def mark(folder: Path) -> IO[bytes] | None:
    """Lock a new folder for as long as the file that is returned is open; None where its file system has no locks."""
    new = folder / f"{MARK}.new"
    try:
        file = new.open("wb")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Under this name only once it is locked: else it would look left behind for a moment.
        new.rename(folder / MARK)
    except OSError:
        return None
    return file


def sweep_folders(within: Path, prefix: str) -> None:
    """Remove the folders of that prefix that this user's programs have marked, and that none of them uses any more."""
    with suppress(OSError):
        for folder in [entry for entry in within.iterdir() if entry.name.startswith(prefix)]:
            if _is_ours(folder) and _is_left(folder / MARK):
                shutil.rmtree(folder, ignore_errors=True)


def sweep_files(within: Path, prefix: str) -> None:
    """Remove the files with that prefix that no program holds locked."""
    with suppress(OSError):
        for file in [entry for entry in within.iterdir() if entry.name.startswith(prefix)]:
            if _is_ours(file):
                with _try_lock(file) as is_free:
                    if is_free:
                        # Still locked: who made it waits for that, and then finds it gone.
                        file.unlink(missing_ok=True)


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A new folder next to a path, from which what is whole is moved there; those of killed programs are removed."""
    prefix = f".{path.name}."
    sweep_folders(path.parent, prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=path.parent) as name:
        lock = mark(Path(name))
        try:
            yield Path(name)
        finally:
            if lock is not None:
                lock.close()


def _is_ours(path: Path) -> bool:
    return not path.is_symlink() and path.lstat().st_uid == os.getuid()


def _is_left(path: Path) -> bool:
    with _try_lock(path) as is_free:
        return is_free


@contextmanager
def _try_lock(path: Path) -> Iterator[bool]:
    """Whether no other program holds a file locked; inside the block, this one does."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        yield _lock(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
