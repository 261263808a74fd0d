"""Pairs of values of two graphs that are equal whenever both are run, and how much each of them tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compare.hlo.align._alignment import Match
from compare.hlo.align.candidates import Values, candidates, places_of
from compare.hlo.align.fingerprints import Fingerprint
from compare.hlo.align.intermediates import Intermediates, depending_on
from compare.hlo.align.layouts import Layout, laid_out
from compare.hlo.graph import Graph

Arguments = tuple[Sequence[np.ndarray], Sequence[np.ndarray]]
"""Arrays for the left program and for the right one, each in the order of its parameters."""
Pair = tuple[int, int]

_LEAST_BITS = 8.0


@dataclass(frozen=True, eq=False)
class Runs:
    """What is run, and how.

    Attributes:
      graphs: hold every value of the graphs to align under its id.
      cases: draws or fetches arguments of both; asked when there is something to find.
      tolerance: of float32, relative to each value's scale.
      budget: bytes of intermediates to hold at a time.
      loops: whether to run what depends on a loop; on arbitrary state a loop may never end.
    """

    graphs: tuple[Graph, Graph]
    cases: Callable[[], Sequence[Arguments]]
    tolerance: float
    budget: int
    loops: bool = True


@dataclass(frozen=True)
class Equal:
    """How two values are equal in every case, and how far they are apart at most."""

    layout: Layout
    ulp: float


@dataclass(frozen=True, eq=False)
class EqualValues:
    """Every pair that is equal, by node the bits that it tells, and what could not be run.

    `fixed` are the values that depend on no parameter; their pairs are equal to the bit. `idle` are equal
    to an operand of theirs to the bit, as a sum with zeros is.
    """

    pairs: Mapping[Pair, Equal]
    bits: tuple[Mapping[int, float], Mapping[int, float]]
    fixed: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    idle: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    notes: tuple[str, ...] = ()


def equal_values(graphs: tuple[Graph, Graph], known: Iterable[Match], runs: Runs) -> EqualValues:
    """Run both graphs and find the values without a partner that are equal to any value of the other one.

    Raises:
      UnreadableProgram: this process's XLA cannot run a graph, for another reason than a call of a library.
    """
    fixed = _fixed(graphs[0]), _fixed(graphs[1])
    known = list(known)
    open_ = _open(graphs[0], {match.left for match in known}), _open(graphs[1], {match.right for match in known})
    if not any(open_):
        return EqualValues({}, ({}, {}), fixed)
    wanted, cases = _wanted(graphs, open_), runs.cases()
    arguments = [case[0] for case in cases], [case[1] for case in cases]
    sides = (
        _intermediates(runs, 0, wanted[0], open_[0], arguments[0]),
        _intermediates(runs, 1, wanted[1], open_[1], arguments[1]),
    )
    prints = sides[0].fingerprints(runs.tolerance), sides[1].fingerprints(runs.tolerance)
    bits = _evidence(runs.graphs[0], prints[0], arguments[0]), _evidence(runs.graphs[1], prints[1], arguments[1])
    left, right = (_telling(graphs[side], prints[side], bits[side], fixed[side]) for side in (0, 1))
    pairs = _verified(candidates(left, right, open_, runs.tolerance), sides, prints, runs.tolerance)
    constant = _same_content(open_, prints, fixed)
    idle = _idle(graphs[0], prints[0]), _idle(graphs[1], prints[1])
    return EqualValues(pairs | constant, bits, fixed, idle, (*sides[0].notes, *sides[1].notes))


def _idle(graph: Graph, prints: Mapping[int, Sequence[Fingerprint]]) -> set[int]:
    contents = {key: [each.content for each in cases] for key, cases in prints.items()}
    return {
        key
        for key, content in contents.items()
        if content in [contents.get(each) for each in graph.nodes[key].operands]
    }


def _fixed(graph: Graph) -> set[int]:
    parameters = set(graph.parameters)
    return set(graph.nodes) - depending_on(graph, lambda node: node.id in parameters)


def _open(graph: Graph, taken: set[int]) -> list[int]:
    return [node.id for node in graph if node.id not in taken and node.shape.is_array]


def _wanted(graphs: tuple[Graph, Graph], open_: tuple[list[int], list[int]]) -> tuple[list[int], list[int]]:
    """Open values, what they are made of, and what one of the other side could be equal to: of as many elements."""
    arrays = tuple({node.id: node.shape.elements for node in graph if node.shape.is_array} for graph in graphs)
    sizes = tuple({arrays[side][key] for key in open_[side]} for side in (0, 1))
    every = tuple(set(each.values()) for each in arrays)

    def of(side: int) -> list[int]:
        asked = {*open_[side], *(operand for key in open_[side] for operand in graphs[side].nodes[key].operands)}
        return [
            key
            for key, size in arrays[side].items()
            if size in sizes[1 - side] or (key in asked and size in every[1 - side])
        ]

    return of(0), of(1)


def _intermediates(
    runs: Runs, side: int, wanted: list[int], asked: list[int], arguments: Sequence[Sequence[np.ndarray]]
) -> Intermediates:
    graph = runs.graphs[side]
    if not runs.loops:
        endless = depending_on(graph, lambda node: node.opcode == "while")
        wanted = [key for key in wanted if key not in endless]
    return Intermediates(graph, arguments, wanted, asked, runs.budget // 2)


def _evidence(
    graph: Graph, prints: Mapping[int, Sequence[Fingerprint]], arguments: Sequence[Sequence[np.ndarray]]
) -> dict[int, float]:
    """Bits of each value over all cases: none where it stays the same though what it depends on does not."""
    by_parameter = zip(graph.parameters, *arguments, strict=True)
    moving = {key for key, *arrays in by_parameter if any(not _same(arrays[0], each) for each in arrays[1:])}
    changed = depending_on(graph, lambda node: node.id in moving)
    found: dict[int, float] = {}
    for key, cases in prints.items():
        different = {each.content: each.bits for each in cases}
        still = key in changed and len(different) == 1
        found[key] = 0.0 if still else sum(different.values())
    return found


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one is other or one.tobytes() == other.tobytes()


def _telling(
    graph: Graph, prints: Mapping[int, Sequence[Fingerprint]], bits: Mapping[int, float], fixed: set[int]
) -> Values:
    kept = {key: each for key, each in prints.items() if key not in fixed and bits[key] >= _LEAST_BITS}
    return Values(graph, kept, places_of(graph))


def _verified(
    pairs: Iterable[Pair],
    sides: tuple[Intermediates, Intermediates],
    prints: tuple[Mapping[int, Sequence[Fingerprint]], Mapping[int, Sequence[Fingerprint]]],
    tolerance: float,
) -> dict[Pair, Equal]:
    """Pairs whose arrays are equal indeed; group by group, so that few arrays are held at a time."""
    grouped: dict[Pair, list[Pair]] = defaultdict(list)
    for pair in sorted(pairs):
        grouped[sides[0].group_of[pair[0]], sides[1].group_of[pair[1]]].append(pair)
    found: dict[Pair, Equal] = {}
    for groups in sorted(grouped, key=_there_and_back):
        members = grouped[groups]
        left, right = sides[0].group(groups[0]), sides[1].group(groups[1])
        for key, other in members:
            printed = zip(prints[0][key], prints[1][other], strict=True)
            scales = [max(one.scale, another.scale) for one, another in printed]
            arrays = [(one[key], another[other]) for one, another in zip(left, right, strict=True)]
            equal = laid_out(arrays, scales, tolerance)
            if equal is not None:
                found[key, other] = Equal(*equal)
    return found


def _there_and_back(groups: Pair) -> Pair:
    """Orders pairs of groups by the first, and by the second up and down in turn: what was kept is asked for next."""
    first, second = groups
    return first, -second if first % 2 else second


def _same_content(
    open_: tuple[list[int], list[int]],
    prints: tuple[Mapping[int, Sequence[Fingerprint]], Mapping[int, Sequence[Fingerprint]]],
    fixed: tuple[set[int], set[int]],
) -> dict[Pair, Equal]:
    """Values that depend on no parameter, one of them open, and are the same to the bit, shape included."""
    contents = tuple(
        {key: cases[0].content for key, cases in prints[side].items() if key in fixed[side]} for side in (0, 1)
    )
    first = tuple({content: key for key, content in reversed(each.items())} for each in contents)
    pairs = {(key, first[1].get(contents[0][key])) for key in open_[0] if key in contents[0]}
    pairs |= {(first[0].get(contents[1][key]), key) for key in open_[1] if key in contents[1]}
    return {(one, other): Equal(Layout(), 0.0) for one, other in pairs if one is not None and other is not None}
