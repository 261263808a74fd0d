"""The folder of a written port: which of its files are ours to overwrite, and how they are written anew."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from compare.errors import RequestError
from compare.writing import write_atomically

PORT, TEST_FILE = "port.py", "test_port.py"
BUILDS = {"tf": "build_tf.py", "jax": "build_jax.py"}


def check_folder(folder: Path, anew: bool) -> None:
    """Raise RequestError for a folder that holds what is not ours to overwrite.

    Args:
      folder: that a port is written to.
      anew: whether a port that is there may be written anew.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RequestError(f"expected a folder at {folder}, found a file or a link: name another")
    if folder.is_dir() and any(folder.iterdir()) and not anew:
        raise RequestError(
            f"expected no folder at {folder}, or an empty one, found files in it: name another, or --force"
        )


def write_anew(folder: Path, files: Iterable[str], contents: Mapping[str, str | bytes]) -> None:
    """Write a port in place of another.

    Args:
      folder: of both.
      files: that a port may have: what is there of them goes.
      contents: by the name of the file.
    """
    for file in files:
        (folder / file).unlink(missing_ok=True)
    for file, content in contents.items():
        write_atomically(folder / file, content)


def original_from(folder: Path, reference: str) -> str:
    """FILE.py:NAME as it is found from the folder of a port.

    Args:
      folder: of the port.
      reference: FILE.py:NAME from the current folder.
    """
    where, _, name = reference.rpartition(":")
    return f"{Path(os.path.relpath(Path(where).resolve(), folder.resolve())).as_posix()}:{name}"
