"""Keeps the measurements of each row in a folder: one small file per row."""

from __future__ import annotations

from pathlib import Path

from compare import files
from compare.errors import Foreseen
from compare.plain_json import write_json
from compare.record.envelope import SCHEMA
from compare.record.figure_part import MeasuredRow


class KeptError(Foreseen):
    """A kept row that cannot be read: one line with what was expected, found, and what to do."""


A_ROW = files.Expected("a row of `jaxport lookup figures --run`", "remove it, and run the row again", KeptError)


def keep(row: MeasuredRow, folder: Path) -> Path:
    """Write a row, in place of what was kept of it before; its path.

    Raises:
      UnwrittenError: the file cannot be written.
    """
    path = _path(folder, row.row)
    write_json(path, row)
    return path


def load_row(name: str, folder: Path) -> MeasuredRow | None:
    """The kept measurements of a row; None if there are none.

    Args:
      folder: that need not be there.

    Raises:
      KeptError: the file is none, is of another row, or was written by a newer jaxport.
    """
    path = _path(folder, name)
    if not path.exists():
        return None
    measurement = files.convert(files.read_json(path, A_ROW), MeasuredRow, path, A_ROW)
    if measurement.row != name:
        A_ROW.refuse(path, f"the row {measurement.row or 'of no name'}")
    if measurement.schema not in range(1, SCHEMA + 1):
        A_ROW.refuse(path, f"schema {measurement.schema}, where {SCHEMA} or older is expected")
    return measurement


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"
