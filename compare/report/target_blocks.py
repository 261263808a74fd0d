"""Blocks of pages on both programs compiled for a device. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.record.target_part import Launch, OnTarget, Target
from compare.report import numbers
from compare.report.pages import (
    Beside,
    Block,
    Cell,
    Column,
    Facts,
    Folded,
    Item,
    Items,
    Lines,
    Link,
    Links,
    Pane,
    Panes,
    Part,
    Table,
    columns,
)
from compare.report.target_rows import CELLS, PROGRAMS, figures, notes, of_sides, sentence

NOTHING_RAN = (
    "Both programs compiled by JAX's XLA for devices that are not here: nothing ran there, and a lower bound is no "
    "measured time."
)
BOUND = (
    "Bound: bytes over the device's bandwidth, or operations over its peak, whichever is more. Modules are compared as "
    "XLA optimized them, fusions made transparent."
)
LEGEND = (
    "Occupancy: warps that a multiprocessor can hold at once, of those that fit at most, and what allows no more. "
    "Filled: the share of the multiprocessors that get a block. Spills: bytes of a thread that find no register. "
    "Bytes: read and written."
)
_EQUAL = {
    True: Cell("equal modules", "pass", status="pass"),
    False: Cell("modules differ", "fail", status="fail"),
    None: Cell("not compared", "warning", status="not_judged"),
}
_LAUNCHES = (
    *(Column("order", "number"), *columns("kernel", "instruction", kind="code wrap"), Column("library")),
    *columns("grid", "threads", "registers", "spills", "shared memory", "occupancy", kind="number"),
    *(Column("limited by"), *columns("filled", "bytes", kind="number")),
)
_HINTS = {
    "order": "place in the runtime's order",
    "filled": "the share of the multiprocessors that get a block",
}


@dataclass(frozen=True)
class Levels:
    """A kernel at every level of lowering, or the number of the launch that has them; neither where only JSON has."""

    panes: Sequence[Pane] = ()
    chips: Sequence[str] = ()
    same_as: int | None = None


def equality(target: Target) -> Cell:
    """Whether both modules are the same."""
    return _EQUAL[target.equal]


def part(name: str, target: Target) -> Part:
    """A device in the report of a run."""
    launches = [
        Folded(f"What is launched of {CELLS[side]}, most bytes first", [launch_table(side, cell), _legend()])
        for side, cell in of_sides(target).items()
        if cell.launched
    ]
    lines = [Lines([f"{sentence(name, target)}."], "strong"), Lines([f"{note}." for note in notes(target)], "note")]
    return Part(name, [*lines, *summary(name, target), *launches], verdict=equality(target))


def summary(name: str, target: Target) -> Iterator[Block]:
    """The device, the figures of both programs, and what differs."""
    yield Facts(_facts(target))
    cells = of_sides(target)
    compiled = {side: cell for side, cell in cells.items() if not cell.reason}
    yield Facts([(CELLS[side], cell.reason) for side, cell in cells.items() if cell.reason])
    table = [_figures(name, target, list(compiled))] if compiled else []
    differences = Items("Differences", "", [Item("", line) for line in target.differences])
    how = "how both programs are partitioned into them"
    partitions = Items("Kernels", how, [Item("", line) for line in target.regrouped])
    yield Beside([*table, *(group for group in (differences, partitions) if group.items)])


def _figures(name: str, target: Target, sides: Sequence[str]) -> Table:
    places = [list(CELLS).index(side) for side in sides]
    rows = [
        (
            Cell(figure.title, "differs" if figure.differs else ""),
            *(Cell(figure.texts[place], note=figure.exact[place]) for place in places),
        )
        for figure in figures(target)
    ]
    titles = (Column(CELLS[side], "number", group=PROGRAMS[side]) for side in sides)
    return Table((Column("figure"), *titles), rows, f"both programs on {name}")


def launch_table(side: str, cell: OnTarget, levels: Mapping[int, Levels] | None = None) -> Table:
    """The table of a program's launches, most bytes first.

    Args:
      levels: by the number of a launch, what it opens to.
    """
    launches = in_order(cell)
    below = [list(_below(side, launch, (levels or {}).get(order))) for order, launch in launches]
    rows = [_launch(side, order, launch) for order, launch in launches]
    return Table(_LAUNCHES, rows, f"launches of {CELLS[side]}", most=len(rows), hints=_HINTS, below=below)


def in_order(cell: OnTarget) -> list[tuple[int, Launch]]:
    """Launches with their places in the runtime's order, from 1; most bytes first."""
    return sorted(enumerate(cell.launched, 1), key=lambda launch: -(launch[1].bytes or 0))


def _launch(side: str, order: int, launch: Launch) -> tuple[Cell | str, ...]:
    return (
        Cell(str(order), anchor=f"{side}-{order}"),
        Cell(launch.kernel) if launch.kernel else Cell("", note=launch.kind or numbers.MISSING),
        *(launch.instruction or numbers.MISSING, launch.library or numbers.MISSING),
        *(_by_axis(launch.grid), _by_axis(launch.threads), numbers.count(launch.registers)),
        *(numbers.binary_bytes(launch.spill_bytes), numbers.binary_bytes(launch.shared_memory_bytes)),
        *(numbers.share(launch.occupancy), launch.limited_by or numbers.MISSING, numbers.share(launch.filled)),
        Cell(numbers.binary_bytes(launch.bytes), "strong"),
    )


def _below(side: str, launch: Launch, levels: Levels | None) -> Iterator[Block]:
    """The lines that a launch comes from, and its kernel at every level."""
    first, others = "".join(launch.sources[:1]), launch.sources[1:]
    panes = levels.panes if levels else ()
    if panes or others:
        more = f"and {numbers.count_of(len(others), 'more line')}" if others else ""
        chips = [Cell(chip) for chip in levels.chips] if levels else []
        yield Folded(Cell(first, note=more, chips=chips), [Lines(others, "note"), *(Panes([pane]) for pane in panes)])
    elif first:
        yield Lines([first], "note")
    if levels and levels.same_as:
        sentence = f"The kernel of launch {levels.same_as}."
        yield Links([Link(sentence, f"#{side}-{levels.same_as}")])
    elif levels and not panes:
        yield Lines(["hlo.json has its levels."], "note")


def _legend() -> Lines:
    return Lines([LEGEND], "note")


def _facts(target: Target) -> list[tuple[str, str]]:
    facts = (
        ("device", target.description),
        ("memory", numbers.binary_bytes(target.memory_bytes)),
        ("figures of the device from", target.source),
        ("compiled by", ", ".join(f"{name} {version}" for name, version in target.packages.items())),
    )
    return [(name, fact) for name, fact in facts if fact not in ("", numbers.MISSING)]


def _by_axis(sizes: Sequence[int]) -> str:
    """(8, 2, 1) as "8 x 2": axes after the last that has more than one say nothing."""
    last = max((axis for axis, size in enumerate(sizes) if size != 1), default=0)
    return " x ".join(f"{size:,}" for size in sizes[: last + 1]) or numbers.MISSING
