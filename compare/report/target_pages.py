"""A page a device: what XLA makes of both programs there, and every kernel down to machine code. From JSON alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from compare import files
from compare.record.base import Count, Many, Named, Part, Text
from compare.record.target_part import Target
from compare.report import numbers, target_rows
from compare.report.page_html import styles, templates
from compare.report.program_texts import cut, file_stem
from compare.report.showable import mapping, printable, text
from compare.report.target_rows import LaunchRow
from compare.writing import write_atomically

MOST_LADDERS = 100
"""Kernels of a cell whose texts a page holds, those with most bytes first: a browser opens no page of a thousand."""

_LONGEST_STEM = 100
"""Of a pair and of a device: no file system takes more than 255 bytes."""


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


@dataclass(frozen=True)
class Tab:
    """A page of a pair: the alignment, or a device."""

    title: str
    file: str
    current: bool = False

    @property
    def href(self) -> str:
        """Beside the other pages."""
        return quote(self.file)


@dataclass(frozen=True)
class LevelRow:
    """A kernel at one level: what is shown of it, and the way to the rest."""

    name: str
    lines: str
    said: str
    text: str
    numbering: str
    file: str
    href: str


@dataclass(frozen=True)
class Opened:
    """What a launch opens to: its levels, the number of the launch that has them, or what only hlo.json has."""

    levels: tuple[LevelRow, ...] = ()
    same_as: int | None = None


def write_target_pages(pair: Mapping[str, Any], out: Path) -> list[Path]:
    """Write a page for every device of a pair of `jaxport hlo` into a folder that is there; their paths."""
    paths = []
    for device, html in pages(pair).items():
        path = out / page_names(pair)[device]
        write_atomically(path, html)
        paths.append(path)
    return paths


def pages(pair: Mapping[str, Any]) -> dict[str, str]:
    """By device, its page."""
    return {device: _page(pair, device) for device in mapping(pair, "targets")}


def page_names(pair: Mapping[str, Any]) -> dict[str, str]:
    """By device, the file of its page, all of them different."""
    names: dict[str, str] = {}
    for device in mapping(pair, "targets"):
        stem = f"{file_stem(text(pair, 'name'))[:_LONGEST_STEM]}.{file_stem(device)[:_LONGEST_STEM]}"
        again = sum(name.rpartition("~")[0] == stem or name == f"{stem}.html" for name in names.values())
        names[device] = f"{stem}~{again + 1}.html" if again else f"{stem}.html"
    return names


def tabs(pair: Mapping[str, Any], current: str = "") -> tuple[Tab, ...]:
    """The pages of a pair, with that of a device as the current one, or the alignment's; none without devices."""
    names = page_names(pair)
    if not names:
        return ()
    alignment = Tab("alignment", f"{file_stem(text(pair, 'name'))}.html", not current)
    return (alignment, *(Tab(printable(device), name, device == current) for device, name in names.items()))


def _page(pair: Mapping[str, Any], device: str) -> str:
    plain = printable(mapping(pair, "targets", device))
    rows = target_rows.rows(printable(device), files.convert_plain(plain, Target))
    ladders = files.convert_plain(plain, Ladders).ladders
    by_launch = {
        cell.side: _open_launches(cell.launches, ladders.get(cell.name, ()), _dump(pair, device, cell.side))
        for cell in rows.cells
    }
    return (
        templates()
        .get_template("target.html.j2")
        .render(
            name=printable(text(pair, "name")),
            rows=rows,
            tabs=tabs(pair, device),
            opened=by_launch,
            style=styles("target.css"),
        )
    )


def _dump(pair: Mapping[str, Any], device: str, side: str) -> str:
    """Where `jaxport hlo` keeps what XLA dumped of a cell, beside the page."""
    return f"{file_stem(text(pair, 'name'))}.targets/{device.replace(':', '-')}/{side}"


def _open_launches(launches: Sequence[LaunchRow], ladders: Sequence[Ladder], dump: str) -> dict[int, Opened]:
    """By launch what it opens to; a kernel that is launched again points to its first row."""
    by_kernel = {(ladder.kernel, ladder.instruction): ladder.levels for ladder in ladders if ladder.levels}
    first: dict[tuple[str, str], int] = {}
    by_launch: dict[int, Opened] = {}
    for launch in launches:
        kernel = (launch.kernel, launch.instruction)
        if kernel in first:
            by_launch[launch.order] = Opened(same_as=first[kernel])
        elif kernel in by_kernel and len(first) < MOST_LADDERS:
            first[kernel] = launch.order
            by_launch[launch.order] = Opened(tuple(_level(level, dump) for level in by_kernel[kernel]))
        elif kernel in by_kernel:
            by_launch[launch.order] = Opened()
    return by_launch


def _level(level: Level, dump: str) -> LevelRow:
    lines_shown = level.text.splitlines()
    count_text = numbers.count(level.lines)
    more = level.lines is not None and level.lines > len(lines_shown)
    return LevelRow(
        name=level.name,
        lines=count_text,
        said=f"first {len(lines_shown)} of {count_text} lines"
        if more
        else f"{count_text} line{'' if level.lines == 1 else 's'}",
        text="\n".join(map(cut, lines_shown)),
        numbering="\n".join(str(number) for number in range(1, len(lines_shown) + 1)),
        file=level.file,
        href=quote(f"{dump}/{level.file}") if level.file else "",
    )
