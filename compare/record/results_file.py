"""Reading results.json as the struct that it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compare import files
from compare.record.envelope import Record
from compare.records import A_RECORD


def decode(plain: Any, path: Path) -> Record:
    """The record of plain JSON; `path` is where it comes from.

    Raises:
      RecordError: a field is of another type than is declared.
    """
    return files.convert(plain, Record, path, A_RECORD)
