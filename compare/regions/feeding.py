"""Finds cut points behind values that differ by rounding: both programs go on from the left program's values.

A program that runs as a whole carries its rounding along, until no value is near enough to its partner. Here the values
without a partner are computed by themselves, on both sides from the same arrays, so that no rounding adds up from one
region to the next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

import numpy as np

from compare.hlo import executing, values
from compare.hlo.align import Alignment, Match
from compare.hlo.align._alignment import NEIGHBOURHOOD, SLOT
from compare.hlo.align.by_number import Numbering
from compare.hlo.align.by_value import ByValue
from compare.hlo.align.equal_values import Arguments, Runs, equal_values
from compare.hlo.arrays.fingerprints import TOLERANCE
from compare.hlo.arrays.room import budget
from compare.hlo.graph import Graph, find_needed
from compare.hlo.pair import Pair
from compare.regions.cutting import find_cut_points, find_varying
from compare.regions.parts import CutPoint
from compare.regions.pieces import as_parameter

_MOST_ROUNDS = 32

Arrays = dict[int, list[np.ndarray]]
"""By id in the left program, its value in each case."""


def find_more_matches(
    alignment: Alignment, cases: Sequence[Arguments], tolerance: float = TOLERANCE, behind_changes: bool = False
) -> Alignment:
    """The alignment with more matches: values without a partner are computed from values that have one.

    Args:
      tolerance: of float32, relative to each value's scale; other types scale with their precision. What is matched by
        it is a hypothesis, so that a wide one costs a region that does not hold and no wrong verdict.
      behind_changes: whether to go on behind one operation of the same values that has another constant or attribute in
        each program, as behind an error: it is supposed to be a cut point, whose own region does not hold then. Only
        for programs of which a region fails without it: two right formulas may look alike as well.

    Raises:
      UnreadableProgram: XLA cannot run what is left.
    """
    graphs = Pair(alignment.left.graph, alignment.right.graph)
    numbering = Numbering(Pair(alignment.left, alignment.right))
    matches = list(alignment.matches)
    arrays: Arrays = {
        key: [arguments[position] for arguments, _ in cases] for position, key in enumerate(graphs.left.parameters)
    }
    for _ in range(_MOST_ROUNDS):
        cuts = find_cut_points(dataclasses.replace(alignment, matches=tuple(matches)))
        residue = _Residue(graphs, matches, cuts)
        _compute(graphs.left, arrays, residue.read)
        more = residue.matches(numbering, matches, residue.cases(arrays, cases), tolerance)
        executing.let_go()
        if not more and behind_changes:
            more = residue.match_change(numbering, matches)
        if not more:
            break
        matches += more
    return dataclasses.replace(alignment, matches=tuple(matches))


class _Residue:
    """The values without a partner, as programs whose parameters are the cut points that these read; ids are kept.

    Attributes:
      graphs: of either program.
      read: ids in the left program of all values that either of them takes.
    """

    def __init__(self, graphs: Pair[Graph], matches: Sequence[Match], cuts: Sequence[CutPoint]) -> None:
        self._whole = graphs
        self._cut_of = Pair(
            {key: cut for cut in cuts for key in cut.nodes.left}, {key: cut for cut in cuts for key in cut.nodes.right}
        )
        partners = Pair({match.left for match in matches}, {match.right for match in matches})
        self.graphs = Pair(*(_open(graphs[side], partners[side], self._cut_of[side]) for side in (0, 1)))
        origins = (self._origin(side, key) for side in (0, 1) for key in self.graphs[side].parameters)
        self.read = {key for key in origins if key is not None}

    def _origin(self, side: int, key: int) -> int | None:
        """The id in the left program of the value of a parameter; None for a parameter of the right program alone."""
        cut = self._cut_of[side].get(key)
        return cut.nodes.left[0] if cut else key if side == 0 else None

    def matches(
        self, numbering: Numbering, matches: Sequence[Match], cases: Sequence[Arguments], tolerance: float
    ) -> list[Match]:
        """New matches: by value, and by the numbers of values that these connect."""
        runs = Runs(self.graphs, lambda: cases, tolerance, budget())
        equal = equal_values(self.graphs, self._slots(), runs)
        by_value = ByValue(self._whole, numbering, equal)
        more: list[Match] = []
        before = -1
        while before < len(more):
            before = len(more)
            for matcher in (by_value, numbering):
                more += matcher.matches([*matches, *more])
        return more

    def match_change(self, numbering: Numbering, matches: Sequence[Match]) -> list[Match]:
        """A match of the first operations without a partner that read the same values, constants aside."""
        sides = zip(self.graphs, numbering.numbers(matches), strict=True)
        left, right = (dict(_by_what_varies(graph, numbers)) for graph, numbers in sides)
        return [Match(key, right[what], NEIGHBOURHOOD) for what, key in left.items() if what in right][:1]

    def _slots(self) -> list[Match]:
        parameters = set(self.graphs.right.parameters)
        return [
            Match(left, right, SLOT)
            for left in self.graphs.left.parameters
            if left in self._cut_of.left
            for right in self._cut_of.left[left].nodes.right
            if right in parameters
        ]

    def cases(self, arrays: Arrays, cases: Sequence[Arguments]) -> list[Arguments]:
        """Arguments of the programs without a partner: for both, the arrays of the left one."""
        positions = {key: position for position, key in enumerate(self._whole.right.parameters)}

        def fill(side: int, key: int, case: int) -> np.ndarray:
            origin = self._origin(side, key)
            return cases[case][1][positions[key]] if origin is None else arrays[origin][case]

        return [
            (
                [fill(0, key, case) for key in self.graphs.left.parameters],
                [fill(1, key, case) for key in self.graphs.right.parameters],
            )
            for case in range(len(cases))
        ]


def _by_what_varies(graph: Graph, numbers: Mapping[int, int]) -> Iterator[tuple[Hashable, int]]:
    """Operations on arrays by opcode, shape, and the numbers of those operands that are no constants."""
    varying = find_varying(graph)
    for key in reversed(graph.results):
        node = graph.nodes[key]
        what = tuple(numbers[operand] if operand in varying else None for operand in node.operands)
        if node.shape.is_array and any(number is not None for number in what):
            yield (node.opcode, node.shape, what), key


def _open(graph: Graph, partners: set[int], cut_of: Mapping[int, CutPoint]) -> Graph:
    """The graph of the values without a partner, from the cut points that they read."""
    results = [key for key, node in graph.nodes.items() if key not in partners and node.opcode != "parameter"]
    inner, read, waiting = set[int](), set[int](), list(results)
    while waiting:
        key = waiting.pop()
        if key in cut_of:
            read.add(key)
        elif key not in inner:
            inner.add(key)
            waiting.extend(graph.nodes[key].operands)
    parameters = [key for key in graph.nodes if key in read or (key in inner and key in graph.parameters)]
    nodes = {key: as_parameter(graph.nodes[key], number) for number, key in enumerate(parameters)}
    nodes |= {key: node for key, node in graph.nodes.items() if key in inner and key not in nodes}
    return Graph(graph.name, nodes, tuple(parameters), tuple(results))


def _compute(graph: Graph, arrays: Arrays, keys: Collection[int]) -> None:
    """Add the values that are missing, computed from those that are there."""
    missing = [key for key in keys if key not in arrays]
    if not missing:
        return
    alive = find_needed(graph.nodes, (*graph.parameters, *missing))
    graph = dataclasses.replace(graph, nodes={key: node for key, node in graph.nodes.items() if key in alive})
    calls = [list(case) for case in zip(*(arrays[key] for key in graph.parameters), strict=True)]
    for case in values.prepare_in_steps(graph, missing).each(calls):
        for key, array in case.items():
            arrays.setdefault(key, []).append(array)
