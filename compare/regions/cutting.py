"""Finds possible cut points: the matches of an alignment, as classes of values that are assumed equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from compare.hlo.align import Alignment, Match
from compare.hlo.align._alignment import NEIGHBOURHOOD, SLOT, VALUE
from compare.hlo.graph import Graph, Node
from compare.hlo.numbering import is_drawn
from compare.hlo.pair import Pair
from compare.regions.parts import CutPoint

_Member = tuple[int, int]
"""The side, 0 for the left program, and the id there."""


def find_cut_points(alignment: Alignment) -> list[CutPoint]:
    """Arrays of one shape that matches connect, in the order of the left program.

    Left out are values that depend on no parameter, which every region spells out for itself, and matches by value of
    arrays that are arranged differently.
    """
    graphs = Pair(alignment.left.graph, alignment.right.graph)
    varying = graphs.map(find_varying)
    usable = [match for match in alignment.matches if _is_usable(match, graphs, varying)]
    slots = [match for match in usable if match.matcher == SLOT]
    parameters = {(0, match.left) for match in slots} | {(1, match.right) for match in slots}
    cut_parameters = [CutPoint(Pair((match.left,), (match.right,)), is_parameter=True) for match in slots]
    inner = [match for match in usable if (0, match.left) not in parameters and (1, match.right) not in parameters]
    return sorted([*cut_parameters, *_connect(inner)], key=lambda cut: cut.nodes.left)


def find_varying(graph: Graph) -> set[int]:
    """The values that depend on parameters or on random numbers."""
    varying = set(graph.parameters)
    for node in graph:
        if not varying.isdisjoint(node.operands) or draws(node):
            varying.add(node.id)
    return varying


def draws(node: Node) -> bool:
    """Whether an operation, or one of its bodies, draws random numbers or has a side effect."""
    return is_drawn(node) or any(is_drawn(inner) for region in node.regions for inner in region.walk())


def _is_usable(match: Match, graphs: Pair[Graph], varying: Pair[set[int]]) -> bool:
    left, right = graphs.left.nodes[match.left], graphs.right.nodes[match.right]
    is_varying = match.left in varying.left and match.right in varying.right
    is_arranged_alike = match.matcher != VALUE or not match.note
    return left.shape.is_array and left.shape == right.shape and is_varying and is_arranged_alike


def _connect(matches: list[Match]) -> Iterator[CutPoint]:
    """A cut point for each set of values that matches connect."""
    parents: dict[_Member, _Member] = {}

    def root(member: _Member) -> _Member:
        while parents.setdefault(member, member) != member:
            parents[member] = member = parents[parents[member]]
        return member

    for match in matches:
        parents[root((1, match.right))] = root((0, match.left))
    members: dict[_Member, list[_Member]] = defaultdict(list)
    for member in sorted(parents):
        members[root(member)].append(member)
    by_value = {root((0, match.left)) for match in matches if match.matcher in (VALUE, NEIGHBOURHOOD)}
    for first, group in members.items():
        left, right = (tuple(key for side, key in group if side == program) for program in (0, 1))
        yield CutPoint(Pair(left, right), is_by_value=first in by_value)
