"""Modules that were run again, as tables on the console."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from compare.bundles.distance import Difference
from compare.bundles.replaying import Replayed
from compare.inputs.at_size import describe
from compare.record.target_part import OnTarget
from compare.report import numbers, target_rows, terminal
from compare.report.page_console import print_lines, print_rows
from compare.report.pages import Table, columns

LOG_WIDTH = 140
_TARGETS = (
    *columns("target"),
    *columns("kernels", "launches", "libraries", "intermediates", "peak", "fits", "bound", kind="number"),
)
_RESULTS = (
    *(*columns("result", "type", "compiler"), *columns("absolute", "relative", "ULP", "NaN, inf", kind="number")),
    *columns(""),
)


def log_console() -> Console:
    console = terminal.console()
    # In a log, whose width is unknown, nothing is cut to 80 columns.
    return console if console.is_terminal else terminal.console(width=LOG_WIDTH)


def show(replays: Sequence[Replayed], console: Console) -> None:
    """Print one table a module, and below it why a compiler rejected it."""
    for replay in replays:
        print_rows(_table(replay), console)
        print_lines([f"{compiler}: {reason}" for compiler, reason in replay.refused.items()], console)


def show_on_targets(module: str, on_targets: Mapping[str, OnTarget], console: Console) -> None:
    """Print what XLA makes of a module for each device, and below it why it refuses it.

    Args:
      on_targets: by device, the module compiled for it, or the reason why it is not.
    """
    rows = [_target_row(name, cell) for name, cell in on_targets.items() if not cell.reason]
    if rows:
        print_rows(Table(_TARGETS, rows, title=f"{module}: compiled for devices, not run"), console)
    print_lines([f"{module} on {name}: {cell.reason}" for name, cell in on_targets.items() if cell.reason], console)


def _target_row(name: str, cell: OnTarget) -> tuple[str, ...]:
    counts = (numbers.count(cell.kernels), numbers.count(cell.launches), target_rows.library_calls(cell))
    sizes = (numbers.binary_bytes(cell.temp_bytes), numbers.binary_bytes(cell.peak_bytes))
    return name, *counts, *sizes, target_rows.FITS[cell.fits], target_rows.bound(cell)


def _table(replay: Replayed) -> Table:
    rows = [
        (
            "" if place else result.name,
            "" if place else describe(result.shape, result.dtype),
            compiler,
            *_cells(difference),
        )
        for result in replay.results
        for place, (compiler, difference) in enumerate(result.differences.items())
    ]
    title = f"{replay.module}: inputs {replay.inputs}, reference {replay.reference}"
    return Table(_RESULTS, rows, title=title, most_on_console=len(rows))


def _cells(difference: Difference) -> tuple[str, ...]:
    ulp = "" if difference.ulp is None else str(difference.ulp)
    same, verdict = "same" if difference.alike else "differ", "" if difference.agrees else "differs"
    return f"{difference.absolute:.3g}", f"{difference.relative:.3g}", ulp, same, verdict
