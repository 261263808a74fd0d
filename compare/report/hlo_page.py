"""The page of two programs: where they part first, then both, value beside value. From JSON alone."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from markupsafe import Markup

from compare.files import Json
from compare.report.hlo_sections import SHOWN, SIDES, sections
from compare.report.numbers import list_first
from compare.report.page_html import TEMPLATES, fill
from compare.report.pages import Cell, Link, Page
from compare.report.showable import entries, mapping, part, printable, text
from compare.writing import write_atomically

SCRIPTS = ("hlo_values.js", "hlo_rows.js", "hlo_controls.js")
"""One script in three files: what the page holds and which of it is shown; how a row is drawn; what controls do."""

_TEXTS = ("op", "name", "shape", "attributes", "literal", "op_name", "source", "hints", "class", "kernel")

Rank = tuple[int, int, int]
"""A place in the left program; before it, at it, or after it; a place among all."""


def write_hlo_page(view: Json, out: Path, tabs: Sequence[Link] = ()) -> Path:
    """Write the page of `compare.hlo.showing.view` whole or not at all, making its folder; returns its path.

    Args:
      view: `compilers`, `compiled`, `passes` and `donation` of `compare.prove.program_alignment` are shown where they
        stand in it.
    """
    write_atomically(out, page(view, tabs))
    return out


def page(view: Json, tabs: Sequence[Link] = ()) -> str:
    """The whole page: no network, every string of the programs escaped, all that needs no script above what does."""
    safe = printable(view)
    script = "\n".join((TEMPLATES / name).read_text() for name in SCRIPTS)
    data = Markup(_embed(payload(safe)))
    return fill("hlo.html.j2", _page(safe, tabs), script, "hlo.css", labels=entries(safe, "labels"), data=data)


def _page(view: Json, tabs: Sequence[Link]) -> Page:
    left, right = entries(view, "labels")
    counts = mapping(view, "levels", text(view, "level"))
    results = entries(view, "results")
    unequal = [text(result, "name") for result in results if not result["equal"]]
    verdict, title = Cell("not equal", status="fail"), text(view, "headline")
    if counts["equal"]:
        verdict, title = Cell("equal", status="pass"), f"{left} and {right} are the same program"
    elif results and not unequal:
        verdict = Cell("same results", status="pass")
        title = title if entries(view, "frontier") else f"{left} and {right} are equal under an assumption"
    origin = [
        f"level {text(view, 'level')}",
        f"{counts['matched']} of {counts['left']} values of {left} have a partner",
        f"{right} has {counts['right']}",
    ]
    if len(results) > 1 and unequal:
        origin.append(f"results that are not equal: {list_first(unequal, SHOWN)}")
    return Page(
        command="jaxport hlo",
        title=title,
        origin=origin,
        sections=list(sections(view)),
        links=tabs,
        verdict=verdict,
        remarks=entries(view, "notes"),
        tab=f"{left} and {right}",
    )


def payload(view: Json) -> Json:
    """The programs as the script reads them: every string once, every value a row of numbers."""
    pack = _Packed()
    partners = _partners(view)
    for left, right in join_values(part(view, "left"), part(view, "right"), partners):
        pack.row(left, right, -1, 0, partners)
    return {
        "labels": entries(view, "labels"),
        "times": [mapping(view, side, "kernels") for side in SIDES],
        "results": [entries(view, side, "results") for side in SIDES],
        "meanings": {text(change, "rule"): text(change, "meaning") for change in entries(view, "changes")},
        "pairs": [pack.pair(match) for key in ("matches", "alike") for match in entries(view, key)],
        "sides": pack.sides,
        "rows": pack.rows,
        "lists": pack.lists,
        "strings": pack.strings,
    }


def join_values(left: object, right: object, partners: Mapping[str, str]) -> Iterator[tuple[Json | None, Json | None]]:
    """The values of two computations in one order that holds in both, partners beside each other.

    The left program's order is kept as far as the right one allows. Matches that contradict each other's
    order cannot all be had; the first of them then stands above one of its operands.

    Args:
      left: a computation of the view: its nodes, and the keys of its results.
      partners: by value of the left computation, the one of the right that stands beside it.
    """
    join = _Join.of(left, right, partners)
    missing = [len(needs) for needs in join.needs]
    ready = [(join.rank[unit], unit) for unit, count in enumerate(missing) if count == 0]
    heapq.heapify(ready)
    later = iter(sorted(range(len(join.units)), key=join.rank.__getitem__))
    emitted_units: set[int] = set()
    while len(emitted_units) < len(join.units):
        unit = heapq.heappop(ready)[1] if ready else next(place for place in later if place not in emitted_units)
        if unit in emitted_units:
            continue
        emitted_units.add(unit)
        yield join.units[unit]
        for user in join.users[unit]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, (join.rank[user], user))


@dataclass
class _Join:
    """Two computations as one: a unit is a pair of partners, or one value alone."""

    units: list[tuple[Json | None, Json | None]]
    rank: list[Rank]
    needs: list[set[int]] = field(default_factory=list)
    users: list[list[int]] = field(default_factory=list)

    @staticmethod
    def of(left: object, right: object, partners: Mapping[str, str]) -> _Join:
        by_key = {node["id"]: node for node in entries(right, "nodes")}
        units: list[tuple[Json | None, Json | None]] = [
            (node, by_key.pop(partners.get(node["id"], ""), None)) for node in entries(left, "nodes")
        ]
        lefts = len(units)
        units += [(None, node) for node in by_key.values()]
        places = [{node["id"]: index for index, unit in enumerate(units) if (node := unit[side])} for side in (0, 1)]
        needs = [
            {places[side][key] for side in (0, 1) for key in entries(unit[side], "operands")} - {index}
            for index, unit in enumerate(units)
        ]
        users: list[list[int]] = [[] for _ in units]
        for index, operands in enumerate(needs):
            for operand in operands:
                users[operand].append(index)
        # A result of the right stands where the left has its own of that number.
        results = zip(entries(right, "results"), entries(left, "results"), strict=False)
        ends = {places[1][key]: places[0][other] for key, other in results if key in places[1] and other in places[0]}
        return _Join(units, _ranks(lefts, ends, users), needs, users)


def _ranks(lefts: int, ends: Mapping[int, int], users: Sequence[Sequence[int]]) -> list[Rank]:
    """Where each unit would stand: as in the left program, or else before what first reads it."""
    ranks: list[Rank] = [(index, 1, index) for index in range(lefts)]
    ranks += [(ends.get(index, lefts), 2, index) for index in range(lefts, len(users))]
    for index in reversed(range(lefts, len(users))):
        if users[index]:
            place, part, _ = min(ranks[user] for user in users[index])
            ranks[index] = (place, 0 if part == 1 else part, index)
    return ranks


def _partners(view: Json) -> dict[str, str]:
    """By value of the left program the one beside it: its first match that is free, or what is alike."""
    partners: dict[str, str] = {}
    seen_partners: set[str] = set()
    for pair in (*entries(view, "matches"), *entries(view, "alike")):
        if pair["left"] not in partners and pair["right"] not in seen_partners:
            partners[pair["left"]] = pair["right"]
            seen_partners.add(pair["right"])
    return partners


class _Packed:
    """Rows and values as they are collected, strings and lists of them interned."""

    def __init__(self) -> None:
        self.strings: list[str] = [""]
        self.lists: list[list[int]] = [[]]
        self.sides: tuple[list[list[Any]], list[list[Any]]] = ([], [])
        self.rows: list[list[int]] = []
        self._known: dict[str, int] = {"": 0}
        self._known_lists: dict[tuple[str, ...], int] = {(): 0}
        self._index: tuple[dict[str, int], dict[str, int]] = ({}, {})

    def string(self, value: object) -> int:
        """The number of a string."""
        if str(value) not in self._known:
            self._known[str(value)] = len(self.strings)
            self.strings.append(str(value))
        return self._known[str(value)]

    def _list(self, values: Sequence[str]) -> int:
        key = tuple(values)
        if key not in self._known_lists:
            self._known_lists[key] = len(self.lists)
            self.lists.append([self.string(value) for value in key])
        return self._known_lists[key]

    def row(self, left: Json | None, right: Json | None, parent: int, depth: int, partners: Mapping[str, str]) -> None:
        """One row and, below it, the rows of its regions."""
        index = len(self.rows)
        self.rows.append([self._value(0, left), self._value(1, right), parent, depth])
        regions = zip_longest(entries(left, "regions"), entries(right, "regions"))
        for region, other in regions:
            titles = [0 if body is None else self.string(text(body, "name")) for body in (region, other)]
            heading = len(self.rows)
            self.rows.append([-1, -1, index, depth + 1, *titles])
            for inner in join_values(region, other, partners):
                self.row(*inner, heading, depth + 1, partners)

    def _value(self, side: int, node: Json | None) -> int:
        if node is None:
            return -1
        self._index[side][node["id"]] = len(self.sides[side])
        texts = [self.string(text(node, name)) for name in _TEXTS]
        lists = [self._list(entries(node, name)) for name in ("frames", "place", "rules")]
        numerics = int(bool(part(node, "numerics")))
        self.sides[side].append([text(node, "id"), *texts, *lists, numerics, list(entries(node, "operands"))])
        return len(self.sides[side]) - 1

    def pair(self, match: Json) -> list[Any]:
        """A match, or what is alike, by the numbers of its values."""
        ends = [index.get(text(match, side), -1) for side, index in zip(SIDES, self._index, strict=True)]
        facts = [self.string(text(match, "matcher")), part(match, "ulp"), self.string(text(match, "note"))]
        return [*ends, *facts, self._list(entries(match, "differs"))]


def _embed(data: Json) -> str:
    """JSON that no string in it can end early: a program's names come from users' files."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
