"""Files that cannot be written are named. Workers need this much, and nothing of records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compare.errors import Foreseen


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
