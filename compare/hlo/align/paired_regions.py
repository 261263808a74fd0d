"""Matches through regions: loops, branches and reducers whose bodies are aligned in turn."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from compare.hlo.align._alignment import REGION, Alignment, Match, RegionAlignment
from compare.hlo.align._problem import Problem
from compare.hlo.align.bodies import body_problem
from compare.hlo.align.by_number import Numbering
from compare.hlo.align.calls import Caller, Calls, PairedCall, Positions
from compare.hlo.align.state import Slot, as_form, parts_read, reads
from compare.hlo.graph import Graph, Node
from compare.hlo.pair import Pair
from compare.hlo.rewriting import Rewritten

_MOST_USERS = 64
"""A value with more users than this, such as zero, does not identify a pair of bodies."""


class _Entered(NamedTuple):
    """A value with bodies, and where it stands among those of its graph."""

    at: int
    node: Node


class Regions:
    """The bodies of two graphs' values; each pair of bodies is aligned once."""

    def __init__(self, problem: Problem, numbering: Numbering, align: Callable[[Problem], Alignment]) -> None:
        self._problem, self._numbering, self._align = problem, numbering, align
        self._nodes = problem.graphs.map(lambda graph: graph.nodes)
        self._entered = problem.graphs.map(lambda graph: [node for node in graph if node.regions])
        self._read = problem.graphs.map(parts_read)
        self._forms: dict[Graph, Rewritten] = {}
        self._aligned: dict[Hashable, Alignment] = {}
        self._shown: dict[int, Alignment] = {}

    def matches(self, known_matches: Sequence[Match]) -> list[Match]:
        """Values without a partner whose bodies are the same and called with the same; of a tuple, part by part."""
        if not all(self._entered):
            return []
        matched_keys = Pair({match.left for match in known_matches}, {match.right for match in known_matches})
        matches: list[Match] = []
        calls = self._calls(known_matches)
        for left, right in self._likely(matched_keys, calls.callers):
            likely = self._same_parts(left, right, calls.callers) or self._equal(left, right, calls.call(left, right))
            for match in likely:
                if match.left not in matched_keys.left or match.right not in matched_keys.right:
                    matches.append(match)
                    matched_keys.left.add(match.left)
                    matched_keys.right.add(match.right)
        return matches

    def alignments(self, pairs: Sequence[Match], known_matches: Sequence[Match]) -> list[RegionAlignment]:
        """The bodies of values that are matched or alike, aligned."""
        if not all(self._entered):
            return []
        calls = self._calls(known_matches)
        alignments: list[RegionAlignment] = []
        for match in pairs:
            left, right = self._nodes.left[match.left], self._nodes.right[match.right]
            if left.regions and _are_akin(left, right):
                bodies = enumerate(self._bodies(left, right, calls.call(left, right)))
                alignments += [RegionAlignment(left.id, right.id, index, self._within(body)) for index, body in bodies]
        return alignments

    def _calls(self, known_matches: Sequence[Match]) -> Calls:
        numbers, graphs = self._numbering.numbers(known_matches), self._problem.graphs
        left_caller = Caller(graphs.left, numbers.left, self._read.left)
        return Calls(Pair(left_caller, Caller(graphs.right, numbers.right, self._read.right)), self._form)

    def _form(self, body: Graph) -> Rewritten:
        if body not in self._forms:
            self._forms[body] = as_form(body)
        return self._forms[body]

    def _likely(self, matched_keys: Pair[set[int]], callers: Pair[Caller]) -> Iterator[tuple[Node, Node]]:
        """Pairs without partners that share most of what they are called with, the nearest first."""
        users: dict[Hashable, list[_Entered]] = defaultdict(list)
        for index, node in enumerate(self._entered.right):
            if node.id not in matched_keys.right:
                for part in set(callers.right.parts(node)):
                    users[part].append(_Entered(index, node))
        for index, node in enumerate(self._entered.left):
            if node.id in matched_keys.left:
                continue
            common_parts = Counter(
                other
                for part in set(callers.left.parts(node))
                for other in users.get(part, [])[:_MOST_USERS]
                if other.node.id not in matched_keys.right and _are_akin(node, other.node)
            )
            if common_parts:
                yield node, min(common_parts, key=lambda other: (-common_parts[other], abs(other.at - index))).node

    def _bodies(self, left: Node, right: Node, call: PairedCall) -> list[Alignment]:
        alignments: list[Alignment] = []
        pairs = map(Pair, left.regions, right.regions)
        for bodies, slots, results in zip(pairs, call.slots, call.results, strict=True):
            key = bodies.left, bodies.right, slots, results
            if key not in self._aligned:
                self._aligned[key] = self._align(body_problem(self._problem, bodies, slots, results, self._form))
            alignments.append(self._aligned[key])
        return alignments

    def _equal(self, left: Node, right: Node, call: PairedCall) -> list[Match]:
        """The two values, or the parts of them that are read, where they are the same."""
        if left.attributes != right.attributes or not call.same:
            return []
        outputs = equal_outputs(call, self._bodies(left, right, call))
        if left.shape.dtype != "tuple" or right.shape.dtype != "tuple":
            return [Match(left.id, right.id, REGION)] if outputs and left.shape == right.shape else []
        read, others = self._read.left.get(left.id, {}), self._read.right.get(right.id, {})
        matches = [Match(read[one], others[other], REGION) for one, other in outputs if one in read and other in others]
        if len(matches) < max(len(read), len(others)) or not matches:
            return matches
        note = ", ".join(f"part {one} is {other}" for one, other in outputs if one != other)
        return [*matches, Match(left.id, right.id, REGION, note=note), *self._called_with(left, right)]

    def _same_parts(self, left: Node, right: Node, callers: Pair[Caller]) -> list[Match]:
        """The two where all that is read of either is matched already: a tuple has no value beside its parts."""
        parts = {callers.left.numbers[key] for key in self._read.left.get(left.id, {}).values()}
        others = {callers.right.numbers[key] for key in self._read.right.get(right.id, {}).values()}
        if not parts or parts != others:
            return []
        return [Match(left.id, right.id, REGION, note="part by part"), *self._called_with(left, right)]

    def _called_with(self, left: Node, right: Node) -> list[Match]:
        """The tuples that two values are called with, which are no values of their own."""
        return [
            Match(one, other, REGION)
            for one, other in zip(left.operands, right.operands, strict=True)
            if self._nodes.left[one].opcode == self._nodes.right[other].opcode == "tuple"
        ]

    def _within(self, alignment: Alignment) -> Alignment:
        """A body's alignment as one within that of its program."""
        if id(alignment) not in self._shown:
            matches = tuple(
                Match(match.left, match.right, REGION, match.ulp, "; ".join(filter(None, (match.matcher, match.note))))
                for match in alignment.matches
            )
            self._shown[id(alignment)] = dataclasses.replace(alignment, matches=matches)
        return self._shown[id(alignment)]


def _are_akin(left: Node, right: Node) -> bool:
    return (
        left.opcode == right.opcode
        and len(left.regions) == len(right.regions)
        and len(left.operands) == len(right.operands)
    )


def equal_outputs(call: PairedCall, bodies: Sequence[Alignment]) -> Positions:
    """Parts of two values that are the same: of a loop, those that stay the same round after round."""
    depends = [_Dependence(body, results) for body, results in zip(bodies, call.results, strict=True)]
    if not call.loop:
        return tuple(
            pair
            for index, pair in enumerate(call.outputs)
            if all(
                body.holds(0 if len(body.results) == 1 else index, start_slots)
                for body, start_slots in zip(depends, call.given, strict=True)
            )
        )
    body, condition = depends
    (equal_slots, _), (slots, _) = call.given, call.slots
    while condition.holds(0, equal_slots):
        still_equal = frozenset(
            slot for index, slot in enumerate(slots) if slot in equal_slots and body.holds(index, equal_slots)
        )
        if still_equal == equal_slots:
            return tuple(pair for index, pair in enumerate(call.outputs) if slots[index] in equal_slots)
        equal_slots = still_equal
    return ()


class _Dependence:
    """Finds the results of two bodies that are equal, given the values of their slots."""

    def __init__(self, alignment: Alignment, results: Positions) -> None:
        self.results = results
        self._equal = [result.equal for result in alignment.results]
        left, right = alignment.left.graph, alignment.right.graph
        mine, theirs = reads(left), reads(right)
        self._reads = [Pair(mine[left.results[one]], theirs[right.results[other]]) for one, other in results]

    def holds(self, index: int, equal_slots: frozenset[Pair[Slot]]) -> bool:
        """Whether the result at this position is the same where the slots that are held are."""
        if index >= len(self._equal) or not self._equal[index]:
            return False
        read = self._reads[index]
        return read.left <= {slot.left for slot in equal_slots} and read.right <= {slot.right for slot in equal_slots}
