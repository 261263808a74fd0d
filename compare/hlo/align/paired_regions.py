"""Matches through regions: loops, branches and reducers whose bodies are aligned in turn."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from compare.hlo.align._alignment import REGION, Alignment, Match, RegionAlignment
from compare.hlo.align._problem import Problem
from compare.hlo.align.bodies import body_problem
from compare.hlo.align.by_number import Numbering, Numbers
from compare.hlo.align.calls import Call, Calls, Positions
from compare.hlo.align.state import Slot, as_form, reads
from compare.hlo.graph import Graph, Node
from compare.hlo.rewriting import Rewritten

_MOST_USERS = 64
"""What more bodies than this are called with, such as zero, tells nothing of which of them are one."""


class Regions:
    """The bodies of two graphs' values; each pair of bodies is aligned once."""

    def __init__(self, problem: Problem, numbering: Numbering, align: Callable[[Problem], Alignment]) -> None:
        self._problem, self._numbering, self._align = problem, numbering, align
        self._graphs = problem.forms[0].graph, problem.forms[1].graph
        self._entered = [[node for node in graph if node.regions] for graph in self._graphs]
        self._read = _parts_read(self._graphs[0]), _parts_read(self._graphs[1])
        self._forms: dict[int, Rewritten] = {}
        self._aligned: dict[Hashable, Alignment] = {}
        self._shown: dict[int, Alignment] = {}

    def matches(self, known: Sequence[Match]) -> list[Match]:
        """Values without a partner whose bodies are the same and called with the same; of a tuple, part by part."""
        if not all(self._entered):
            return []
        taken = {match.left for match in known}, {match.right for match in known}
        found: list[Match] = []
        calls = self._calls(self._numbering.numbers(known))
        for left, right in self._likely(taken, calls):
            for match in self._same_parts(left, right, calls) or self._equal(left, right, calls.call(left, right)):
                if match.left not in taken[0] or match.right not in taken[1]:
                    found.append(match)
                    taken[0].add(match.left)
                    taken[1].add(match.right)
        return found

    def alignments(self, pairs: Sequence[Match], known: Sequence[Match]) -> list[RegionAlignment]:
        """The bodies of values that are matched or alike, aligned."""
        if not all(self._entered):
            return []
        calls = self._calls(self._numbering.numbers(known))
        found: list[RegionAlignment] = []
        for match in pairs:
            left, right = self._graphs[0].nodes[match.left], self._graphs[1].nodes[match.right]
            if left.regions and _are_akin(left, right):
                bodies = self._bodies(left, right, calls.call(left, right))
                found += [RegionAlignment(left.id, right.id, at, self._within(each)) for at, each in enumerate(bodies)]
        return found

    def _calls(self, numbers: tuple[Numbers, Numbers]) -> Calls:
        return Calls(self._graphs, numbers, self._read, self._form)

    def _form(self, body: Graph) -> Rewritten:
        if id(body) not in self._forms:
            self._forms[id(body)] = as_form(body)
        return self._forms[id(body)]

    def _likely(self, taken: tuple[set[int], set[int]], calls: Calls) -> Iterator[tuple[Node, Node]]:
        """Pairs without partners that share most of what they are called with, the nearest first."""
        users: dict[Hashable, list[tuple[int, Node]]] = defaultdict(list)
        for at, node in enumerate(self._entered[1]):
            if node.id not in taken[1]:
                for part in set(calls.parts(1, node)):
                    users[part].append((at, node))
        for at, node in enumerate(self._entered[0]):
            if node.id in taken[0]:
                continue
            shared = Counter(
                other
                for part in set(calls.parts(0, node))
                for other in users.get(part, [])[:_MOST_USERS]
                if other[1].id not in taken[1] and _are_akin(node, other[1])
            )
            if shared:
                yield node, min(shared, key=lambda other: (-shared[other], abs(other[0] - at)))[1]

    def _bodies(self, left: Node, right: Node, call: Call) -> list[Alignment]:
        found: list[Alignment] = []
        pairs = zip(left.regions, right.regions, strict=True)
        for bodies, slots, results in zip(pairs, call.slots, call.results, strict=True):
            key = id(bodies[0]), id(bodies[1]), slots, results
            if key not in self._aligned:
                self._aligned[key] = self._align(body_problem(self._problem, bodies, slots, results, self._form))
            found.append(self._aligned[key])
        return found

    def _equal(self, left: Node, right: Node, call: Call) -> list[Match]:
        """The two values, or the parts of them that are read, where they are the same."""
        if left.attributes != right.attributes or not call.same:
            return []
        outputs = equal_outputs(call, self._bodies(left, right, call))
        if left.shape.dtype != "tuple" or right.shape.dtype != "tuple":
            return [Match(left.id, right.id, REGION)] if outputs and left.shape == right.shape else []
        read = self._read[0].get(left.id, {}), self._read[1].get(right.id, {})
        pairs = [(one, other) for one, other in outputs if one in read[0] and other in read[1]]
        found = [Match(read[0][one], read[1][other], REGION) for one, other in pairs]
        if len(pairs) < max(len(read[0]), len(read[1])) or not pairs:
            return found
        moved = ", ".join(f"part {one} is {other}" for one, other in outputs if one != other)
        return [*found, Match(left.id, right.id, REGION, note=moved), *self._called_with(left, right)]

    def _same_parts(self, left: Node, right: Node, calls: Calls) -> list[Match]:
        """The two where all that is read of either is matched already: a tuple has no value beside its parts."""
        parts = [
            {calls.numbers[side][key] for key in self._read[side].get(node.id, {}).values()}
            for side, node in enumerate((left, right))
        ]
        if not parts[0] or parts[0] != parts[1]:
            return []
        return [Match(left.id, right.id, REGION, note="part by part"), *self._called_with(left, right)]

    def _called_with(self, left: Node, right: Node) -> list[Match]:
        """The tuples that two values are called with, which are no values of their own."""
        nodes = self._graphs[0].nodes, self._graphs[1].nodes
        pairs = zip(left.operands, right.operands, strict=True)
        return [
            Match(one, other, REGION)
            for one, other in pairs
            if nodes[0][one].opcode == nodes[1][other].opcode == "tuple"
        ]

    def _within(self, alignment: Alignment) -> Alignment:
        """What a body's alignment is within that of its program."""
        if id(alignment) not in self._shown:
            matches = tuple(
                dataclasses.replace(match, matcher=REGION, note="; ".join(filter(None, (match.matcher, match.note))))
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


def _parts_read(graph: Graph) -> dict[int, dict[int, int]]:
    """By tuple, the values that read its parts, by part."""
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for node in graph:
        if node.opcode == "get-tuple-element":
            found[node.operands[0]].setdefault(node.attribute("tuple_index"), node.id)
    return dict(found)


def equal_outputs(call: Call, bodies: Sequence[Alignment]) -> Positions:
    """Parts of two values that are the same: of a loop, those that stay the same round after round."""
    depends = [_Dependence(*each) for each in zip(bodies, call.results, strict=True)]
    if not call.loop:
        held = call.given
        single = [len(each.results) == 1 for each in depends]
        return tuple(
            pair
            for at, pair in enumerate(call.outputs)
            if all(each.holds(0 if one else at, given) for each, one, given in zip(depends, single, held, strict=True))
        )
    held = call.given[0]
    while depends[1].holds(0, held):
        kept = frozenset(slot for at, slot in enumerate(call.slots[0]) if slot in held and depends[0].holds(at, held))
        if kept == held:
            return tuple(pair for at, pair in enumerate(call.outputs) if call.slots[0][at] in held)
        held = kept
    return ()


class _Dependence:
    """Which results of two bodies are the same, given what their slots hold."""

    def __init__(self, alignment: Alignment, results: Positions) -> None:
        self.results = results
        self._equal = [each.equal for each in alignment.results]
        graphs = alignment.left.graph, alignment.right.graph
        known = reads(graphs[0]), reads(graphs[1])
        self._reads = [(known[0][graphs[0].results[one]], known[1][graphs[1].results[other]]) for one, other in results]

    def holds(self, at: int, held: frozenset[tuple[Slot, Slot]]) -> bool:
        """Whether the result at this position is the same where the slots that are held are."""
        if at >= len(self._equal) or not self._equal[at]:
            return False
        left, right = self._reads[at]
        return left <= {one for one, _ in held} and right <= {other for _, other in held}
