"""What Grappler did, on a terminal: how much, each change under the pass that made it, the results and the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.console import Console
from rich.text import Text

from compare.record.grappler_part import Optimization
from compare.report import grappler_changes, grappler_rows
from compare.report.cluster_rows import place
from compare.report.grappler_changes import RewriteRow
from compare.report.numbers import count_of
from compare.report.showable import on_lines

_MOST_ROWS = 10
"""Of one pass: the page has them all."""
_MOST_PLACES = 2


def print_optimization(optimization: Optimization, console: Console) -> None:
    """One function."""
    safe = on_lines(optimization)
    console.print(Text.assemble((safe.name, "bold"), f": {grappler_rows.headline(safe)}"), soft_wrap=True)
    for line in _lines(safe):
        console.print(line, soft_wrap=True)


def _lines(optimization: Optimization) -> Iterator[Text]:
    for line in (grappler_rows.traced_line(optimization), grappler_rows.operations_line(optimization)):
        if line:
            yield Text(f"  {line}")
    for passes, rows in groupby(grappler_changes.rewrite_rows(optimization), key=lambda row: row.passes):
        yield Text.assemble("  ", (passes, "bold"))
        yield from _of_passes(list(rows))
    more = (grappler_rows.constants_line(optimization), grappler_rows.later_line(optimization))
    ends = (
        *grappler_rows.result_lines(optimization),
        *grappler_rows.kernel_lines(optimization),
        *grappler_rows.doubts(optimization),
    )
    for line in (*filter(None, more), *ends):
        yield Text(f"  {line}")


def _of_passes(rows: list[RewriteRow]) -> Iterator[Text]:
    for row in rows[:_MOST_ROWS]:
        yield Text.assemble("    ", (row.what, "yellow"))
        for (source, line), count in list(row.places.items())[:_MOST_PLACES]:
            times = f" ({count} nodes)" if count > 1 else ""
            yield Text(f"      {place(source)}  {line}{times}", style="dim")
        if len(row.places) > _MOST_PLACES:
            yield Text(f"      and {count_of(len(row.places) - _MOST_PLACES, 'more line')}", style="dim")
    if len(rows) > _MOST_ROWS:
        yield Text(f"    and {count_of(len(rows) - _MOST_ROWS, 'more kind')} of change, on the page")
