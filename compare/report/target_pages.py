"""A page a device: what XLA makes of both programs there, and every kernel down to machine code. From JSON alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from compare import files
from compare.files import Json
from compare.record.base import Count, Many, Named, Part, Text
from compare.record.target_part import Launch, Target
from compare.report import numbers, page_html, target_blocks, target_rows
from compare.report.pages import Cell, Line, Lines, Link, Page, Pane, Section
from compare.report.program_texts import cut, file_stem
from compare.report.showable import mapping, printable, text
from compare.report.target_blocks import Levels
from compare.writing import write_atomically

MOST_LADDERS = 100
"""Kernels of a cell whose texts a page holds, those with most bytes first: a browser opens no page of a thousand."""

_OPENING = (
    "Most bytes first. A row opens to its kernel at every level of lowering; the figures beside their names are lines."
)
_LONGEST_STEM = 100
"""Characters of a pair's and of a device's name: no file system takes more than 255 bytes."""


class Level(Part, frozen=True):
    """The text of a kernel at one level: its first lines, how many there are, and the file that has them all."""

    name: Text = ""
    text: Text = ""
    lines: Count = None
    file: Text = ""


class Ladder(Part, frozen=True):
    """One kernel at every level."""

    kernel: Text = ""
    instruction: Text = ""
    levels: Many[Level] = ()


class Ladders(Part, frozen=True):
    """By cell, every different kernel."""

    ladders: Named[Many[Ladder]] = msgspec.field(default_factory=dict)


def write_target_pages(pair: Json, out: Path) -> list[Path]:
    """Write a page for every device of a pair of `jaxport hlo` into a folder that is there; their paths."""
    paths = []
    for device, html in pages(pair).items():
        path = out / page_names(pair)[device]
        write_atomically(path, html)
        paths.append(path)
    return paths


def pages(pair: Json) -> dict[str, str]:
    """By device, its page."""
    return {device: page_html.render(_page(pair, device)) for device in mapping(pair, "targets")}


def page_names(pair: Json) -> dict[str, str]:
    """By device, the file of its page, all of them different."""
    names: dict[str, str] = {}
    for device in mapping(pair, "targets"):
        stem = f"{file_stem(text(pair, 'name'))[:_LONGEST_STEM]}.{file_stem(device)[:_LONGEST_STEM]}"
        again = sum(name.rpartition("~")[0] == stem or name == f"{stem}.html" for name in names.values())
        names[device] = f"{stem}~{again + 1}.html" if again else f"{stem}.html"
    return names


def tabs(pair: Json, current: str = "") -> tuple[Link, ...]:
    """The pages of a pair, with that of a device as the current one, or the alignment's; none without devices."""
    names = page_names(pair)
    if not names:
        return ()
    alignment = Link("alignment", f"{file_stem(text(pair, 'name'))}.html", not current)
    return (alignment, *(Link(printable(device), name, device == current) for device, name in names.items()))


def _page(pair: Json, device: str) -> Page:
    plain = printable(mapping(pair, "targets", device))
    target, name = files.convert_plain(plain, Target), printable(device)
    return Page(
        command="jaxport hlo",
        title=target_rows.sentence(name, target),
        tab=f"{printable(text(pair, 'name'))} on {name}",
        origin=[printable(text(pair, "name")), target_blocks.NOTHING_RAN],
        sections=list(_sections(name, target, files.convert_plain(plain, Ladders), _dump(pair, device))),
        links=tabs(pair, device),
        verdict=target_blocks.equality(target),
        remarks=list(target_rows.notes(target)),
    )


def _sections(name: str, target: Target, ladders: Ladders, dump: str) -> Iterator[Section]:
    """Both programs on a device, then what is launched of each."""
    cells = target_rows.of_sides(target)
    compiled = [cell for cell in cells.values() if not cell.reason]
    remarks = [target_blocks.BOUND] if compiled else []
    if compiled and not any(cell.launched for cell in compiled):
        remarks.append("XLA lists no launches for this device.")
    blocks = [*target_blocks.summary(name, target), Lines(remarks, "note")]
    yield Section(f"Both programs on {name}", blocks=blocks)
    for side, cell in cells.items():
        if cell.launched:
            of_cell = ladders.ladders.get(target_rows.CELLS[side], ())
            levels = _open_launches(target_blocks.in_order(cell), of_cell, f"{dump}/{side}")
            table = target_blocks.launch_table(side, cell, levels)
            title = f"{target_rows.CELLS[side]}: what is launched of {target_rows.PROGRAMS[side]}"
            yield Section(title, blocks=[Lines([_OPENING], "note"), table, Lines([target_blocks.LEGEND], "note")])


def _dump(pair: Json, device: str) -> str:
    """Where `jaxport hlo` keeps what XLA dumped for a device, beside the page."""
    return f"{file_stem(text(pair, 'name'))}.targets/{device.replace(':', '-')}"


def _open_launches(launches: Sequence[tuple[int, Launch]], ladders: Sequence[Ladder], dump: str) -> dict[int, Levels]:
    """By launch what it opens to; a kernel that is launched again points to its first row."""
    by_kernel = {(ladder.kernel, ladder.instruction): ladder.levels for ladder in ladders if ladder.levels}
    first: dict[tuple[str, str], int] = {}
    by_launch: dict[int, Levels] = {}
    for order, launch in launches:
        kernel = (launch.kernel, launch.instruction)
        if kernel in first:
            by_launch[order] = Levels(same_as=first[kernel])
        elif kernel in by_kernel and len(first) < MOST_LADDERS:
            first[kernel] = order
            levels = by_kernel[kernel]
            chips = [f"{level.name} {numbers.count(level.lines)}" for level in levels]
            by_launch[order] = Levels([_pane(level, dump) for level in levels], chips)
        elif kernel in by_kernel:
            by_launch[order] = Levels()
    return by_launch


def _pane(level: Level, dump: str) -> Pane:
    """A kernel at one level: its first lines, and the way to the rest."""
    lines = level.text.splitlines()
    is_cut = level.lines is not None and level.lines > len(lines)
    plural = "" if level.lines == 1 else "s"
    count = numbers.count(level.lines)
    size = f"first {len(lines)} of {count} lines" if is_cut else f"{count} line{plural}"
    note = Cell(f"{size}, all in {level.file}", link=f"{dump}/{level.file}") if level.file else size
    return Pane(level.name, [Line(cut(line)) for line in lines], note=note)
