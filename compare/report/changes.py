"""How each ratio changed between runs, on a terminal and as plain text everywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare.history.moves import CONFIRMED, IMPROVED, SEEN_ONCE, Change, Recurrence
from compare.report import numbers
from compare.report.showable import on_lines
from compare.report.terminal import print_table

_STYLES = {CONFIRMED: "bold red", SEEN_ONCE: "yellow", IMPROVED: "green"}
_COLUMNS = ("workload", "time of A vs time of B", "verdict", "before", "after", "change", "95 % interval")
_NOTE = "Ratios are compared, never seconds: a ratio is measured within one run, seconds move with the machine."


def print_changes(recurrences: Sequence[Recurrence], console: Console) -> None:
    """A line a ratio with its last change, then why some were not compared."""
    lines = on_lines(list(recurrences))
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for title in _COLUMNS:
        table.add_column(title, overflow="fold")
    for recurrence in lines:
        table.add_row(*_cells(recurrence))
    print_table(console, table)
    for line in _lines(lines):
        console.print(line, soft_wrap=True)


def _cells(recurrence: Recurrence) -> tuple[Text, ...]:
    last = recurrence.changes[-1] if recurrence.changes else Change(recurrence.workload, recurrence.ratio, "")
    # Text, not str: a name such as "[red]" is no markup.
    return (
        Text(recurrence.workload),
        Text(recurrence.ratio),
        Text(recurrence.verdict, style=_STYLES.get(recurrence.verdict, "")),
        Text(numbers.ratio(last.before)),
        Text(numbers.ratio(last.after)),
        Text(numbers.ratio(last.change)),
        Text(numbers.interval(last.ci95)),
    )


def _lines(recurrences: Sequence[Recurrence]) -> Iterator[Text]:
    for recurrence in recurrences:
        name = f"{recurrence.workload}: {recurrence.ratio}"
        reasons = dict.fromkeys([recurrence.reason, *(change.reason for change in recurrence.changes)])
        for reason in filter(None, reasons):
            yield Text(f"not compared {name}: {' '.join(reason.split())}")
        if recurrence.confirmed:
            yield Text(f"confirmed {name}: {_medians(recurrence.changes[-1])}", style="bold red")
    yield Text(_NOTE)


def _medians(change: Change) -> str:
    """Seconds, for context."""
    modes = [f"{mode} {' then '.join(map(numbers.seconds, both))}" for mode, both in change.medians.items()]
    return f"medians, for context: {', '.join(modes)}"
