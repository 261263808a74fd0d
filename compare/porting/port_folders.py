"""The folder of a written port: which of its files are ours to overwrite, and how they are written anew."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from compare import leftovers
from compare.errors import RequestError
from compare.writing import write_atomically, writing

PORT, TEST_FILE, README, SCRIPT = "port.py", "test_port.py", "README.md", "train.py"

KEEPING = "`jaxport init --force` writes this file anew, unless this line is gone."
"""In each file that may be of the user's own: under its name in a folder of his, or once he has changed it."""


def find_files_of_user(folder: Path, files: Iterable[str]) -> tuple[str, ...]:
    """The files that are the user's own, of those that a port may have: they stay."""
    paths = [folder / name for name in files if name in (README, SCRIPT)]
    return tuple(path.name for path in paths if os.path.lexists(path) and not _is_ours(path))


def _is_ours(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and KEEPING in path.read_text(errors="replace")


def check_folder(folder: Path, anew: bool) -> None:
    """Raise RequestError for a folder that holds what is not ours to overwrite.

    Args:
      anew: whether a port that is there may be written anew.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RequestError(f"expected a folder at {folder}, found a file or a link: name another")
    if folder.is_dir():
        leftovers.sweep_folders(folder, f".{PORT}.")
    if folder.is_dir() and any(folder.iterdir()) and not anew:
        raise RequestError(
            f"expected no folder at {folder}, or an empty one, found files in it: name another, or --force"
        )


@contextmanager
def written_anew(folder: Path, files: Iterable[str], contents: Mapping[str, str | bytes]) -> Iterator[Path]:
    """A port, whole or not at all: it takes the place of another once the block ends, and not where that raises.

    Yields a folder with its texts, to which the block adds files.

    Args:
      files: that a port may have: what is there of them goes, but what the user has made his own.
      contents: by the name of the file.

    Raises:
      UnwrittenError: a file cannot be written.
    """
    with ExitStack() as rollback:
        rollback.callback(_remove_empty, [parent for parent in (folder, *folder.parents) if not parent.exists()])
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with leftovers.folder_beside(folder / PORT) as staging:
            for file, content in contents.items():
                write_atomically(staging / file, content)
            yield staging
            _move(staging, folder, files)
        rollback.pop_all()


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _move(staging: Path, folder: Path, files: Iterable[str]) -> None:
    # Python's caches stay behind: they name the files that they were made of.
    new_files = [path for path in staging.iterdir() if path.is_file() and path.name != leftovers.MARK]
    with writing(folder):
        names = list(files)
        files_of_user = find_files_of_user(folder, names)
        for file in names:
            if file not in files_of_user:
                (folder / file).unlink(missing_ok=True)
        for path in new_files:
            if path.name not in files_of_user:
                path.replace(folder / path.name)


def original_from(folder: Path, reference: str) -> str:
    """FILE.py:NAME as it is found from the folder of a port.

    Args:
      reference: FILE.py:NAME from the current folder.
    """
    where, _, name = reference.rpartition(":")
    return f"{Path(os.path.relpath(Path(where).resolve(), folder.resolve())).as_posix()}:{name}"
