"""The regions of two programs on a terminal: a line of counts, and a table of those that are not proved."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from compare.files import Json
from compare.report.page_console import print_rows
from compare.report.pages import Table, columns
from compare.report.showable import one_line

_MOST_ROWS = 40
_COLUMNS = columns("operations tf, jax", "times", "reads", "output", "tf", "jax", "note")


def print_regions(record: Json, console: Console, in_full: bool) -> None:
    """Print the regions of every pair.

    Args:
      in_full: whether to list the open ones.
    """
    for pair in record["pairs"]:
        regions = pair["regions"]
        if regions is None:
            continue
        console.print(Text(f"{one_line(pair['name'])}, {_line(regions)}"), soft_wrap=True)
        if in_full and regions.get("open_regions"):
            rows = list(map(_row, regions["open_regions"]))
            print_rows(Table(_COLUMNS, rows[:_MOST_ROWS]), console)
            if len(rows) > _MOST_ROWS:
                console.print(Text(f"  and {len(rows) - _MOST_ROWS} more, in hlo.json"))


def _line(regions: Json) -> str:
    if "reason" in regions:
        return f"no regions: {one_line(regions['reason'])}"
    assumptions = "".join(f"; where {one_line(assumptions)}" for assumptions in regions["assumes"])
    return f"{regions['level']} {regions['headline']}{assumptions}"


def _row(region: Json) -> tuple[str, ...]:
    left, right = region["operations"]
    lines = (sources[0] if sources else "" for sources in region["sources"])
    return f"{left}, {right}", str(region["times"]), str(region["takes"]), region["shape"], *lines, _note(region)


def _note(region: Json) -> str:
    alone = ", ".join(map(one_line, region["alone"]))
    return "; ".join(filter(None, (region["reason"], f"reads {alone}, of one program alone" if alone else "")))
