"""How each ratio changed between runs, on a terminal and as plain text everywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from compare.history.moves import CONFIRMED, IMPROVED, SEEN_ONCE, Change, Recurrence
from compare.report import numbers
from compare.report.page_console import print_rows
from compare.report.pages import Cell, Table, Tone, columns
from compare.report.showable import on_lines

_TONES: Mapping[str, Tone] = {CONFIRMED: "fail", SEEN_ONCE: "warning", IMPROVED: "pass"}
_COLUMNS = columns("workload", "time of A vs time of B", "verdict", "before", "after", "change", "95 % interval")
_NOTE = "Ratios are compared, never seconds: a ratio is measured within one run, seconds move with the machine."


def print_changes(recurrences: Sequence[Recurrence], console: Console) -> None:
    """A line a ratio with its last change, then why some were not compared."""
    lines = on_lines(list(recurrences))
    print_rows(Table(_COLUMNS, list(map(_cells, lines))), console)
    for line in _lines(lines):
        console.print(line, soft_wrap=True)


def _cells(recurrence: Recurrence) -> tuple[Cell | str, ...]:
    last = recurrence.changes[-1] if recurrence.changes else Change(recurrence.workload, recurrence.ratio, "")
    ratios = map(numbers.ratio, (last.before, last.after, last.change))
    verdict = Cell(recurrence.verdict, _TONES.get(recurrence.verdict, ""))
    return recurrence.workload, recurrence.ratio, verdict, *ratios, numbers.interval(last.ci95)


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
