"""The overview on a terminal, and as plain text everywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from compare.records import FAIL, NOT_APPLICABLE, PASS
from compare.report import tables, verdicts
from compare.report.reading import mapping, printable
from compare.report.tables import OverviewRow, RatioRow
from compare.report.verdicts import WORDS

_STYLES = {PASS: "green", FAIL: "bold red", verdicts.INCOMPLETE: "yellow", verdicts.NOT_JUDGED: "yellow"}
_NATURAL_WIDTH = 10_000


def print_overview(record: Mapping[str, Any], console: Console) -> None:
    """The table of workloads, a line for each failing gate and each thing that could not be had, the verdict."""
    shown = printable(record)
    table = _table(shown, console.is_terminal)
    if not console.is_terminal:
        # A log or a pipe has no width: a table folded to 80 columns cannot be searched.
        options = console.options.update(max_width=_NATURAL_WIDTH)
        table.width = Measurement.get(console, options, table).maximum
    console.print(table, soft_wrap=not console.is_terminal)
    for line in _lines(shown):
        console.print(line, soft_wrap=True)


def _table(record: Mapping[str, Any], ruled: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD if ruled else None, pad_edge=False)
    for title in ("workload", "size", "parity", "gates that do not pass"):
        table.add_column(title)
    table.add_column("instructions\ntf / jax", justify="right")
    table.add_column("kernels tf/eager\n→ tf/jit → jax/jit", justify="right")
    table.add_column("time of jax/jit\nvs fastest TF mode")
    table.add_column("jax/jit vs tf/jit: frontend,\ncompiler, runtime")
    for row in tables.overview(record):
        table.add_row(*_cells(row))
    return table


def _cells(row: OverviewRow) -> tuple[Text, ...]:
    # Text, not str: a name such as "[red]" is no markup.
    return (
        Text(row.name),
        Text(row.size),
        _word(row.verdict),
        _gates(row),
        Text(" / ".join(row.instructions)),
        Text(" → ".join(row.kernels)),
        Text(_ratio(row.ratio)),
        Text(", ".join(factor for _, factor in row.attribution)),
    )


def _gates(row: OverviewRow) -> Text:
    others = [(name, verdict) for name, verdict in row.gates.items() if verdict not in (PASS, NOT_APPLICABLE)]
    return Text(", ").join(Text(name, style=_STYLES.get(verdict, "")) for name, verdict in others)


def _ratio(row: RatioRow | None) -> str:
    if row is None:
        return "not timed"
    other = row.name.partition(" vs ")[2]
    return f"withheld ({other})" if row.withheld else f"{row.ratio} {row.interval} {row.verdict} ({other})"


def _lines(record: Mapping[str, Any]) -> Iterator[Text]:
    for name, workload in mapping(record, "workloads").items():
        for gate in verdicts.gates(workload):
            if gate.verdict == FAIL:
                yield Text.assemble(_word(FAIL), " ", _single(gate.message))
        for failure in verdicts.failures(workload):
            yield Text.assemble(("not had", "yellow"), " ", _single(f"{name}: {failure.line}"))
    headline = verdicts.headline(record)
    notes = f" ({'; '.join(headline.notes)})" if headline.notes else ""
    yield Text.assemble(_word(headline.verdict), f" {headline.sentence}{notes}")


def _word(verdict: str) -> Text:
    return Text(WORDS.get(verdict, verdict), style=_STYLES.get(verdict, ""))


def _single(message: str) -> str:
    """One line: a traceback in a reason must not look like several."""
    return " ".join(message.split())
