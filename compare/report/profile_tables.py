"""A profile on a terminal: kernels by time under their phase, and the kernels of one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare.record.profile_part import ReadProfile
from compare.report import profile_rows
from compare.report.cluster_rows import place
from compare.report.numbers import count_of
from compare.report.profile_rows import KernelRow, PhaseRows
from compare.report.showable import on_lines
from compare.report.terminal import print_table

_LINES = 2
"""Source lines of a kernel that a row has room for: the page has them all."""
_COLUMNS = ("kernel", "runs", "total", "mean", "share", "what", "from")
_NARROW_COLUMNS = ("kernel", "runs", "total", "share", "from")
"""What a terminal of 80 columns has room for."""
_NUMBERS = frozenset({"runs", "total", "mean", "share"})


def print_profile(profile: ReadProfile, most: int, console: Console) -> None:
    """What ran, how long and where from.

    Args:
      profile: what was read.
      most: rows of a phase.
      console: prints.
    """
    safe = on_lines(profile)
    console.print(Text(profile_rows.headline(safe), style="bold"), soft_wrap=True)
    for sentence in profile_rows.sentences(safe):
        console.print(Text(f"  {sentence}"), soft_wrap=True)
    groups = profile_rows.phase_rows(safe)
    if groups:
        print_kernels(groups, most, console)


def print_line(profile: ReadProfile, line: str, console: Console) -> None:
    """Print the kernels of FILE:LINE, or a sentence that there is none.

    Args:
      profile: what was read.
      line: as it was asked for.
      console: prints.
    """
    safe = on_lines(profile)
    kernels = profile_rows.of_line(safe, line)
    if not kernels:
        console.print(Text(profile_rows.no_such_line(safe, line)), soft_wrap=True)
        return
    rows = tuple(map(profile_rows.row, kernels))
    print_kernels([PhaseRows(f"{count_of(len(rows), 'kernel')} from {line}", rows)], len(rows), console)


def print_kernels(groups: Sequence[PhaseRows], most: int, console: Console) -> None:
    """A table of kernels, each group under its title.

    Args:
      groups: of kernels.
      most: rows of each.
      console: prints.
    """
    table = _table(groups, most, _COLUMNS)
    print_table(console, table, lambda: _table(groups, most, _NARROW_COLUMNS))


def _table(groups: Sequence[PhaseRows], most: int, columns: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold")
    for group in groups:
        if group.title:
            table.add_row(Text(group.title, style="bold"))
        for cells in _cells(group, most):
            table.add_row(*(Text(cells.get(name, "")) for name in columns))
    return table


def _cells(group: PhaseRows, most: int) -> Iterator[dict[str, str]]:
    indent = "  " if group.title else ""
    for row in group.rows[:most]:
        yield {
            "kernel": f"{indent}{row.name}",
            "runs": row.runs,
            "total": row.total,
            "mean": row.mean,
            "share": row.share,
            "what": row.what,
            "from": _from(row),
        }
    if len(group.rows) > most:
        yield {"kernel": f"{indent}and {len(group.rows) - most} more, on the page"}


def _from(row: KernelRow) -> str:
    """Lines, or where there are none the name that the frontend gave the operation."""
    lines = ", ".join(map(place, row.sources[:_LINES]))
    more = f" and {len(row.sources) - _LINES} more" if len(row.sources) > _LINES else ""
    return f"{lines}{more}" if lines else row.op_name
