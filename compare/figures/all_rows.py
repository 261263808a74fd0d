"""All rows of the documents by name, in their order."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from compare.errors import RequestError
from compare.figures import rows_of_compiling, rows_of_devices, rows_of_kernels, rows_of_models
from compare.figures.row import Row

ROWS = tuple(
    sorted(
        (*rows_of_kernels.ROWS, *rows_of_models.ROWS, *rows_of_devices.ROWS, *rows_of_compiling.ROWS),
        key=lambda row: int(row.name.removeprefix("S")),
    )
)


def choose(names: Sequence[str]) -> list[Row]:
    """The rows of these names, in their order; all of them where none is named.

    Raises:
      RequestError: there is no such row.
    """
    rows_by_name = {row.name: row for row in ROWS}
    for name in names:
        if name.upper() not in rows_by_name:
            near = difflib.get_close_matches(name.upper(), rows_by_name, 1)
            suggestion = f"did you mean {near[0]}?" if near else "`jaxport lookup figures` lists them"
            raise RequestError(f"expected a row, {ROWS[0].name} to {ROWS[-1].name}, found {name!r}: {suggestion}")
    wanted_names = {name.upper() for name in names} or set(rows_by_name)
    return [row for row in ROWS if row.name in wanted_names]
