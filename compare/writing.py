"""Whole files or none, and errors that name the file. Workers need this much, and nothing of records."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compare.errors import Foreseen

PARTIAL = ".jaxport."
"""What the name of a file begins with that is not yet whole."""


class UnwrittenError(Foreseen):
    """A file that could not be written: one line that names it."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system says of a full disk names no file: here it does.

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
    # Not named after the file: whose name may be as long as names can be.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=PARTIAL)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
