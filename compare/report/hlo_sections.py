"""The sections of the page of two programs above their values: differences, levels, results, kernels, rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from compare.files import Json
from compare.report import compilers, numbers
from compare.report.kernel_phases import by_phase
from compare.report.numbers import count_of, list_first
from compare.report.pages import Beside, Block, Cell, Column, Folded, Lines, Part, Section, Table
from compare.report.showable import entries, mapping, part, text
from workloads.core.modes import JAX_CELL, TF_CELL

SIDES = ("left", "right")
"""The sides of the page; labels name the programs."""

SHOWN = 12
"""Rows that stand on the page at once, and places up to which every reason is unfolded."""

_KERNELS = (Column("kernel", "code"), Column("share", "number"), Column("time", "number"))
_RULES = (
    Column("rule"), Column("side"), Column("applied", "number"), Column("last bits"), Column("what it says", "wrap"),
)  # fmt: skip


def sections(view: Json) -> Iterator[Section]:
    """The sections that need no script."""
    labels = entries(view, "labels")
    if reasons := list(_reasons(view, labels)):
        what = "A place is a value without a partner whose operands all have one."
        yield Section("Why they differ", what, blocks=reasons, anchor="frontier")
    parts = {
        "Level by level": [_levels(view, labels)],
        "Results": _results(view, labels),
        "Longest kernels": list(_kernels(view, labels)),
        "Rules that were applied": _rules(view),
    }
    blocks = [Part(title, blocks) for title, blocks in parts.items() if blocks]
    yield Section("How far they are equal", blocks=[Beside(blocks)])
    if groups := compilers.of_pair(view):
        yield Section("What the compilers made of them", blocks=[Beside(groups)])


def verdict(equal: object) -> Cell:
    """Whether two values or programs are equal, as a cell."""
    return Cell("equal", status="pass") if equal else Cell("not equal", status="fail")


def _reasons(view: Json, labels: Sequence[str]) -> Iterator[Folded]:
    """The reasons in the order of the view, each with its places; the places without a reason come last."""
    places = entries(view, "frontier")
    sources = [Column(f"source in {label}", "code wrap") for label in labels]
    columns = (Column("operation", "code wrap"), Column("side"), *sources, Column("what differs", "wrap"))
    for reason in entries(view, "reasons"):
        rows = [_place(entry, labels) for entry in places if _explains(reason, mapping(entry, "explanation"))]
        sides = ", ".join(f"{count} in {side}" for side, count in mapping(reason, "sides").items())
        lines = [text(reason, "meaning"), list_first(entries(reason, "sources"), SHOWN)]
        title = Cell(
            text(reason, "name"), "strong" if reason["kind"] else "warning",
            f"{count_of(reason['places'], 'place')} ({sides})", lines=[Cell(line, "note") for line in lines if line],
        )  # fmt: skip
        yield Folded(title, _fold(columns, rows, "places"), len(places) <= SHOWN or not reason["kind"])


def _explains(reason: Json, explanation: Json) -> bool:
    keys = ("kind", "name", "meaning")
    return all(explanation.get(key) == reason[key] for key in keys) if reason["kind"] else not explanation


def _place(entry: Json, labels: Sequence[str]) -> list[Cell | str]:
    is_left = text(entry, "side") == labels[0]
    here, there = SIDES if is_left else SIDES[::-1]
    link, counterpart = _link(here, part(entry, "node")), _link(there, part(entry, "counterpart"))
    operation = Cell(text(entry, "op"), link=link, lines=[Cell(text(entry, "name"), "note")])
    sources = [_source(text(entry, "source"), link), _source(text(entry, "counterpart_source"), counterpart)]
    return [operation, text(entry, "side"), *(sources if is_left else sources[::-1]), text(entry, "reason")]


def _source(source: str, link: str) -> Cell:
    return Cell(source or ("no source line" if link else ""), link=link)


def _link(side: str, value: object) -> str:
    return "" if value in (None, "") else f"#{side}-{value}"


def _fold(columns: Sequence[Column], rows: Sequence[Sequence[Cell | str]], label: str) -> list[Block]:
    """The first rows, and the others behind a click."""
    more = rows[SHOWN:]
    others = [Folded(f"{len(more)} more", [Table(columns, more, label)])] if more else []
    return [Table(columns, rows[:SHOWN], label), *others] if rows else []


def _levels(view: Json, labels: Sequence[str]) -> Table:
    rows = [
        [
            Cell(name, "differs", "shown below") if name == text(view, "level") else name,
            Cell(str(row["matched"]), "strong"), str(row["left"]), str(row["right"]), verdict(row["equal"]),
        ]
        for name, row in mapping(view, "levels").items()
    ]  # fmt: skip
    numbers_of = (Column(title, "number") for title in ("matched", *labels))
    return Table((Column("level"), *numbers_of, Column("verdict")), rows, "levels")


def _results(view: Json, labels: Sequence[str]) -> list[Block]:
    """A result that is not equal comes first."""
    rows = [
        [
            row["name"], verdict(row["equal"]),
            *(Cell("none" if row[side] is None else f"%{row[side]}", link=_link(side, row[side])) for side in SIDES),
            row["matcher"] or numbers.MISSING, numbers.scalar(row["ulp"]),
        ]
        for row in sorted(entries(view, "results"), key=lambda result: bool(part(result, "equal")))
    ]  # fmt: skip
    sides = (Column(label, "code") for label in labels)
    columns = (Column("result"), Column("verdict"), *sides, Column("found by"), Column("ULP", "number"))
    return _fold(columns, rows, "results")


def _kernels(view: Json, labels: Sequence[str]) -> Iterator[Table]:
    """The kernels that take longest: a table for each side and phase."""
    for side, label, cell in zip(SIDES, labels, (TF_CELL, JAX_CELL), strict=False):
        phases = {text(entry, "name"): text(entry, "phase") for entry in entries(view, "compiled", str(cell), "times")}
        times = [(name, seconds, phases.get(name, "")) for name, seconds in mapping(view, side, "kernels").items()]
        times.sort(key=lambda kernel: -kernel[1])
        total = sum(seconds for _, seconds, _ in times) or 1.0
        for phase, kernels in by_phase(times, itemgetter(2), itemgetter(1)):
            rows = [
                [Cell(name, link=f"#{side}-kernel-{name}"), numbers.share(seconds / total), numbers.seconds(seconds)]
                for name, seconds, _ in kernels[:SHOWN]
            ]
            yield Table(_KERNELS, rows, title=f"{label}, {phase}" if phase else label)


def _rules(view: Json) -> list[Block]:
    changes = entries(view, "changes")
    bits = {True: Cell("may differ", status="incomplete"), False: "same"}
    rows = [[row["rule"], row["side"], str(row["count"]), bits[row["numerics"]], row["meaning"]] for row in changes]
    examples = [list(map(_example, row["examples"])) for row in changes]
    below = [[Folded("examples", [Lines(lines)])] if lines else [] for lines in examples]
    return [Table(_RULES, rows, "rules", below=below if any(below) else ())] if rows else []


def _example(example: Json) -> str:
    text = f"{example['name']}: {example['before']} ⇒ {example['after']}"
    return ", ".join(filter(None, (text, example["source"])))
