"""Whole files or none, and errors that name the file. Workers need this much, and nothing of records."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from compare import leftovers
from compare.errors import Foreseen

PARTIAL = ".jaxport-partial."
"""The prefix of incomplete files, which are removed: no user's file has it."""

_clean_folders: set[Path] = set()
"""Folders where this program has removed what killed ones left."""


class UnwrittenError(Foreseen):
    """A file that could not be written: one line that names it."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Add the file's name to errors such as that of a full disk.

    Raises:
      UnwrittenError: in place of any OSError.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or f"a disk that took less than it was given ({error})"
        raise UnwrittenError(f"expected to write {path}, found {reason}: make room, or write elsewhere") from error


def write_atomically(path: Path, data: str | bytes) -> None:
    """Write the whole file or nothing, in a folder that need not be there yet: a reader never sees half of it.

    Raises:
      UnwrittenError: the disk is full, or the file cannot be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)


def _replace(path: Path, data: str | bytes) -> None:
    folder = path.parent.resolve()
    if folder not in _clean_folders:
        _clean_folders.add(folder)
        leftovers.sweep_files(folder, PARTIAL)
    file, name = _partial(folder)
    try:
        with file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)
            # Still locked: between its closing and its new name another program would take it for left behind.
            os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _partial(folder: Path) -> tuple[IO[bytes], str]:
    """A new file, locked as long as its program lives: a file without a lock is left by a program that was killed."""
    while True:
        # Not named after the file: whose name may be as long as names can be.
        handle, name = tempfile.mkstemp(dir=folder, prefix=PARTIAL)
        with suppress(OSError):  # a file system without locks
            # Who sweeps it at this moment is done with it at once.
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return os.fdopen(handle, "wb"), name
        os.close(handle)  # swept by another program before it was locked
