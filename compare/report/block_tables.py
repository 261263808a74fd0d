"""Chains in compiled blocks on a console: kernels, times and ratios by size of the blocks, and what follows."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from compare.record.block_part import ChainsInBlocks
from compare.report import block_rows
from compare.report.block_rows import BlockRow
from compare.report.terminal import cell, print_table

_TITLES = ("kernels", "time", "over tf/graph", "over whole")


def print_blocks(record: ChainsInBlocks, console: Console) -> None:
    """Print every chain: one table, then what follows."""
    for series in record.series:
        console.print(Text(f"{series.name}: {series.summary}", style="bold"), soft_wrap=True)
        print_table(console, _table(block_rows.modes(series)))
        for line in block_rows.sentences(series):
            console.print(Text(line), soft_wrap=True)
        console.print()
    for note in block_rows.notes(record):
        console.print(Text(note, style="dim"), soft_wrap=True)


def _table(modes: Sequence[tuple[str, Sequence[BlockRow]]]) -> Table:
    has_remarks = any(row.remark for _, rows in modes for row in rows)
    table = Table(
        Column("  mode", no_wrap=True),
        Column("block", justify="right"),
        *(Column(title, justify="right") for title in _TITLES),
        Column("equals whole"),
        *([Column("remark", overflow="fold")] if has_remarks else []),
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for mode, rows in modes:
        for place, row in enumerate(rows):
            mode_cell = f"  {mode}" if place == 0 else ""
            cells = (row.block, row.kernels, row.seconds, row.over_graph, row.over_whole, row.same)
            table.add_row(*map(cell, (mode_cell, *cells, *([row.remark] if has_remarks else []))))
    return table
