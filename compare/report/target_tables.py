"""Shows both programs compiled for devices on a terminal: a table, then the differences, and each note once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from compare.record.target_part import OnTarget, Target
from compare.report import numbers, target_rows
from compare.report.page_console import print_rows
from compare.report.pages import Column, Table, columns
from compare.report.showable import on_lines
from compare.report.target_rows import CELLS

Row = tuple[str, str, Target]
"""A workload, a device, and both programs there."""

_MOST_DIFFERENCES = 6
_COLUMNS = (
    *(*columns("workload", "target", "program"), Column("kernels", "number", "wide"), Column("launches", "number")),
    *(Column("fusions", "number", "wide"), Column("library calls", room="wide"), Column("temp", "number", "wide")),
    *(Column("peak", "number", "wide"), Column("read and written", "number", "wide"), Column("bound", "number")),
    Column("equal"),
)
"""Columns that a terminal of 80 columns shows, and those that only the pages show."""
_EQUAL = {True: "yes", False: "no", None: numbers.MISSING}
_LEGEND = (
    "both programs compiled by JAX's XLA for devices that are not here; a bound is bytes over bandwidth or operations "
    "over the peak, whichever is more, and not a time"
)


def print_targets(rows: Sequence[Row], console: Console) -> None:
    """The table of both programs on every device; then a sentence a device with what differs, and the notes."""
    rows_shown = on_lines(rows)
    if not rows_shown:
        return
    print_rows(Table(_COLUMNS, _rows(rows_shown)), console)
    console.print(Text(_LEGEND, style="dim"), soft_wrap=True)
    for line in (*_differing(rows_shown), *_note_lines(rows_shown)):
        console.print(line, soft_wrap=True)


def _rows(rows_shown: Sequence[Row]) -> list[tuple[str, ...]]:
    """A row a program on a device."""
    return [
        (name, device, CELLS[side], *_figures(cell), _EQUAL[target.equal])
        for name, device, target in rows_shown
        for side, cell in target_rows.of_sides(target).items()
    ]


def _figures(cell: OnTarget) -> tuple[str, ...]:
    too_large = ", does not fit" if cell.fits is False else ""
    return (
        numbers.count(cell.kernels),
        numbers.count(cell.launches),
        numbers.count(cell.fusions),
        target_rows.library_calls(cell),
        numbers.binary_bytes(cell.temp_bytes),
        f"{numbers.binary_bytes(cell.peak_bytes)}{too_large}",
        numbers.binary_bytes(cell.bytes),
        target_rows.bound(cell),
    )


def _batches(target: Target) -> Iterator[str]:
    """The largest batch of each program, where one was searched for."""
    cells = target_rows.of_sides(target)
    if any(cell.largest_batch or cell.too_large_batch for cell in cells.values()):
        texts = (f"{target_rows.largest_batch(cell)} in {CELLS[side]}" for side, cell in cells.items())
        yield f"largest batch: {', '.join(texts)}"


def _differing(rows_shown: Sequence[Row]) -> Iterator[Text]:
    """A sentence a device, then the reasons of cells without a module and the first differences."""
    for name, device, target in rows_shown:
        yield Text(f"{name}: {target_rows.sentence(device, target)}", style="bold")
        yield from (Text(f"  {line}") for line in (*_batches(target), *_unsaid(target)))
        yield from (Text(f"  {line}") for line in target.differences[:_MOST_DIFFERENCES])
        more = len(target.differences) - _MOST_DIFFERENCES
        if more > 0:
            yield Text(f"  and {more} more, on the page and in hlo.json", style="dim")


def _unsaid(target: Target) -> Iterator[str]:
    """Reasons in full, where the sentence has no room for them."""
    reasons = {side: cell.reason for side, cell in target_rows.of_sides(target).items() if cell.reason}
    if len(set(reasons.values())) > 1 or any(target_rows.brief(reason) != reason for reason in reasons.values()):
        yield from (f"{CELLS[side]}: {reason}" for side, reason in reasons.items())


def _note_lines(rows_shown: Sequence[Row]) -> Iterator[Text]:
    """Each note once, after the devices it applies to; with workloads where it does not apply to all of them."""
    subjects: dict[str, list[tuple[str, str]]] = {}
    for name, device, target in rows_shown:
        for note in dict.fromkeys(note for cell in target_rows.of_sides(target).values() for note in cell.notes):
            subjects.setdefault(note, []).append((name, device))
    for note, places in subjects.items():
        devices = dict.fromkeys(device for _, device in places)
        whole = all((name, device) in places for name, device, _ in rows_shown if device in devices)
        yield Text.assemble(("note", "yellow"), f" {', '.join(devices) if whole else _by_workload(places)}: {note}")


def _by_workload(places: Sequence[tuple[str, str]]) -> str:
    names = dict.fromkeys(name for name, _ in places)
    return "; ".join(f"{name} on {', '.join(device for other, device in places if other == name)}" for name in names)
