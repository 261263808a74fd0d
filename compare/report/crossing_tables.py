"""Functions over their sizes on a console: times, ratios, and where they cross."""

from __future__ import annotations

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from compare.record.crossing_part import Crossings, SizeSeries
from compare.report import crossing_rows
from compare.report.terminal import cell, print_table

_STYLES = {crossing_rows.FASTER: "green", crossing_rows.SLOWER: "red"}


def print_crossings(record: Crossings, console: Console) -> None:
    """Print every function: one line a size, then what follows."""
    for series in record.series:
        console.print(Text(f"{series.name}: {series.summary}", style="bold"), soft_wrap=True)
        print_table(console, _table(series))
        for line in crossing_rows.sentences(series):
            console.print(Text(line), soft_wrap=True)
        console.print()
    for note in crossing_rows.notes(record):
        console.print(Text(note, style="dim"), soft_wrap=True)


def _table(series: SizeSeries) -> Table:
    rows = crossing_rows.rows(series)
    has_remarks = any(row.remark for row in rows)
    titles = (*crossing_rows.MODES, *(f"{pair.left} / {pair.right}" for pair in crossing_rows.PAIRS))
    table = Table(
        Column(f"  {series.dimension}", justify="right"),
        *(Column(title, justify="right") for title in titles),
        *([Column("remark", overflow="fold")] if has_remarks else []),
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for row in rows:
        ratios = [cell(text) for text in row.ratios]
        for text, verdict in zip(ratios, row.verdicts, strict=True):
            text.stylize(_STYLES.get(verdict, ""))
        remark = [cell(row.remark)] if has_remarks else []
        table.add_row(cell(f"  {row.size}"), *map(cell, row.seconds), *ratios, *remark)
    return table
