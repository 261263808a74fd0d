"""What became of every ratio between runs, on a terminal and as plain text everywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from compare.report import numbers
from compare.report.showable import entries, mapping, on_lines, part, text

_NATURAL_WIDTH = 10_000
_STYLES = {"regression confirmed": "bold red", "regressed, not confirmed": "yellow", "improved": "green"}
_COLUMNS = ("workload", "time of A vs time of B", "verdict", "before", "after", "change", "95 % interval")
_NOTE = "Ratios are compared, never seconds: a ratio is measured within one run, seconds move with the machine."


def print_changes(found: Sequence[Mapping[str, Any]], console: Console) -> None:
    """A line a ratio with its last change, then why some were not compared, then the verdict.

    Args:
      found: `compare.history.moves.compare_all` as JSON.
    """
    shown = on_lines(list(found))
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for title in _COLUMNS:
        table.add_column(title, overflow="fold")
    for each in shown:
        table.add_row(*_cells(each))
    if not console.is_terminal:
        # A log has no width: a table folded to 80 columns cannot be searched.
        options = console.options.update(max_width=_NATURAL_WIDTH)
        table.width = Measurement.get(console, options, table).maximum
    console.print(table, soft_wrap=not console.is_terminal)
    for line in _lines(shown):
        console.print(line, soft_wrap=True)


def _cells(each: Mapping[str, Any]) -> tuple[Text, ...]:
    changes = entries(each, "changes")
    last = changes[-1] if changes else None
    verdict = text(each, "verdict")
    # Text, not str: a name such as "[red]" is no markup.
    return (
        Text(text(each, "workload")),
        Text(text(each, "ratio")),
        Text(verdict, style=_STYLES.get(verdict, "")),
        Text(numbers.ratio(part(last, "before"))),
        Text(numbers.ratio(part(last, "after"))),
        Text(numbers.ratio(part(last, "change"))),
        Text(numbers.interval(part(last, "ci95"))),
    )


def _lines(found: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    for each in found:
        name = f"{text(each, 'workload')}: {text(each, 'ratio')}"
        reasons = dict.fromkeys(
            [text(each, "reason"), *(text(change, "reason") for change in entries(each, "changes"))]
        )
        for reason in filter(None, reasons):
            yield Text(f"not compared {name}: {' '.join(reason.split())}")
        if part(each, "confirmed"):
            yield Text(f"confirmed {name}: {_medians(entries(each, 'changes')[-1])}", style="bold red")
    yield Text(_NOTE)
    count = sum(bool(part(each, "confirmed")) for each in found)
    unconfirmed = sum(text(each, "verdict") == "regressed, not confirmed" for each in found)
    more = f"; {unconfirmed} seen once: run again to confirm" if unconfirmed else ""
    yield Text(f"{count} confirmed regression{'' if count == 1 else 's'} in {len(found)} ratios{more}")


def _medians(change: object) -> str:
    """Seconds, for context."""
    said = [
        f"{mode} {' then '.join(numbers.seconds(each) for each in entries(both))}"
        for mode, both in mapping(change, "medians").items()
    ]
    return f"medians, for context: {', '.join(said)}"
