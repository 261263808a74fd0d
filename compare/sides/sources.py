"""Where each side comes from, checked before anything is started."""

from __future__ import annotations

import shutil
from pathlib import Path

from compare.errors import RequestError
from compare.sides.pool import Source


def source(side: str, python: str | None, recorded: Path | None, prefix: str = "--") -> Source:
    """A live side, or a recorded one.

    Args:
      side: "tf" or "jax".
      python: its interpreter; None is this one.
      recorded: the file that is replayed in its place.
      prefix: what the options begin with that the user gave, such as "--jaxport-".

    Raises:
      RequestError: two places for one side, or an interpreter that does not exist.
    """
    if python and recorded:
        raise RequestError(f"expected {prefix}{side}-python or {prefix}{side}-recorded, found both: choose one")
    check_interpreter(python, f"{prefix}{side}-python")
    return Source(python, recorded)


def check_interpreter(python: str | None, option: str) -> None:
    """Raise RequestError where there is no such interpreter."""
    if python and shutil.which(python) is None:
        raise RequestError(f"expected a Python interpreter at {python}, found no executable: check {option}")
