"""Modules that were run again, as tables on the console."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare.bundles.replaying import Replayed
from compare.inputs.at_size import describe
from compare.record.target_part import OnTarget
from compare.report import numbers, target_rows, terminal

LOG_WIDTH = 140


def log_console() -> Console:
    console = terminal.console()
    # In a log nothing need be cut to the 80 columns that an unknown width stands for.
    return console if console.is_terminal else terminal.console(width=LOG_WIDTH)


def show(replays: Sequence[Replayed], console: Console) -> None:
    """Print one table a module, and below it why a compiler rejected it."""
    for replay in replays:
        console.print(_table(replay))
        for compiler, reason in replay.refused.items():
            console.print(Text(f"{compiler}: {reason}"))


def show_on_targets(module: str, on_targets: Mapping[str, OnTarget], console: Console) -> None:
    """Print what XLA makes of a module for each device, and below it why it refuses it.

    Args:
      module: its name.
      on_targets: by device, the module compiled for it, or the reason why it is not.
      console: prints.
    """
    compiled = {name: cell for name, cell in on_targets.items() if not cell.reason}
    table = Table(title=terminal.cell(f"{module}: compiled for devices, not run"), title_justify="left", box=SIMPLE)
    table.add_column("target", no_wrap=True)
    for heading in ("kernels", "launches", "libraries", "intermediates", "peak", "fits", "bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, cell in compiled.items():
        counts = (numbers.count(cell.kernels), numbers.count(cell.launches), target_rows.library_calls(cell))
        sizes = (numbers.binary_bytes(cell.temp_bytes), numbers.binary_bytes(cell.peak_bytes))
        fits = target_rows.FITS[cell.fits]
        table.add_row(terminal.cell(name), *map(terminal.cell, (*counts, *sizes, fits, target_rows.bound(cell))))
    if compiled:
        console.print(table)
    for name, cell in on_targets.items():
        if cell.reason:
            console.print(Text(f"{module} on {name}: {cell.reason}"), soft_wrap=True)


def _table(replay: Replayed) -> Table:
    title = f"{replay.module}: inputs {replay.inputs}, reference {replay.reference}"
    table = Table(title=terminal.cell(title), title_justify="left", box=SIMPLE)
    table.add_column("result", overflow="fold", min_width=16)
    for heading in ("type", "compiler"):
        table.add_column(heading, no_wrap=True)
    for heading in ("absolute", "relative", "ULP", "NaN, inf"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for result in replay.results:
        name, kind = result.name, describe(result.shape, result.dtype)
        for compiler, difference in result.differences.items():
            ulp = "" if difference.ulp is None else str(difference.ulp)
            same, verdict = "same" if difference.alike else "differ", "" if difference.agrees else "differs"
            table.add_row(
                terminal.cell(name),
                kind,
                terminal.cell(compiler),
                f"{difference.absolute:.3g}",
                f"{difference.relative:.3g}",
                ulp,
                same,
                verdict,
            )
            name = kind = ""
    return table
