"""Matches by value number: the same operation of operands that are matched, whoever matched them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import permutations

from compare.hlo.align._alignment import NUMBER, REGION, SLOT, VALUE, Match
from compare.hlo.graph import Graph, Node
from compare.hlo.numbering import COMMUTATIVE, MIRRORED, digests, region_digest
from compare.hlo.rewriting import Rewritten

Numbers = dict[int, int]
Order = Callable[[list[int]], list[int]]


def by_number(left: Rewritten, right: Rewritten, known: Sequence[Match] | None = None) -> list[Match]:
    """Values with one value number, many to one where a side computes a value twice.

    Args:
      known: matches to go on from, which are not repeated. None: parameters by what fills them, which are
        among the matches then.
    """
    if known is not None:
        return Numbering(left, right).matches(known)
    slots = _same_slots(left, right)
    return slots + Numbering(left, right).matches(slots)


def _same_slots(left: Rewritten, right: Rewritten) -> list[Match]:
    places = {right.digests[key]: key for key in right.graph.parameters}
    pairs = ((key, places.get(left.digests[key])) for key in left.graph.parameters)
    return [Match(key, other, SLOT) for key, other in pairs if other is not None]


class Numbering:
    """Numbers for the values of two graphs, equal where two are the same operation of operands with equal numbers.

    Numbers start from matches: matched values have one number, and parameters without a match each their
    own. One pass a call, linear in both graphs.
    """

    def __init__(self, left: Rewritten, right: Rewritten, as_written: bool = False) -> None:
        """`as_written` holds operands to their order even where the operation does not depend on it."""
        self._forms = left, right
        self._table: dict[Hashable, int] = {}
        self._regions: dict[int, bytes] = {}
        self._plans = [self._planned(side, as_written) for side in (0, 1)]

    def numbers(self, known: Iterable[Match]) -> tuple[Numbers, Numbers]:
        """The number of every value of the left graph and of the right one."""
        left, right = _classes(known, self._forms[0].graph)
        return self._numbered(0, left), self._numbered(1, right)

    def numbered(self, left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
        """The same from negative numbers that some values have been given."""
        return self._numbered(0, left), self._numbered(1, right)

    def matches(self, known: Sequence[Match]) -> list[Match]:
        """Values that have a number of the other graph and no partner yet."""
        left, right = self.numbers(known)
        partners = {number: key for key, number in reversed(right.items())}
        found = [
            Match(key, partners[number], NUMBER)
            for key, number in _without({match.left for match in known}, left)
            if number in partners
        ]
        taken = {match.right for match in known} | {match.right for match in found}
        partners = {number: key for key, number in reversed(left.items())}
        twice = [Match(partners[number], key, NUMBER) for key, number in _without(taken, right) if number in partners]
        return found + twice

    def _numbered(self, side: int, given: Numbers) -> Numbers:
        numbers: Numbers = {}
        plans = self._plans[side]
        for node in self._forms[side].graph:
            if node.id in given:
                numbers[node.id] = given[node.id]
                continue
            signature, order = plans[node.id]
            operands = [numbers[key] for key in node.operands]
            numbers[node.id] = self._number((signature, *(order(operands) if order else operands)))
        return numbers

    def _number(self, key: Hashable) -> int:
        return self._table.setdefault(key, len(self._table))

    def is_one_operation(self, left: int, right: int) -> bool:
        """Whether two values differ in nothing but perhaps their operands."""
        return self._plans[0][left] == self._plans[1][right]

    def orders(self, side: int, node: Node) -> list[tuple[int, ...]]:
        """The orders in which a value's operands may stand, as far as its operation does not depend on them."""
        order = self._plans[side][node.id][1]
        if order is sorted:
            return list(permutations(node.operands))
        return [tuple(order(list(node.operands)) if order else node.operands)]

    def _planned(self, side: int, as_written: bool) -> dict[int, tuple[int, Order | None]]:
        return {node.id: self._plan(node, side, as_written) for node in self._forms[side].graph}

    def _plan(self, node: Node, side: int, as_written: bool) -> tuple[int, Order | None]:
        """What a value is beside its operands, as a number, and the order in which its operands count."""
        if node.opcode == "parameter":
            return self._number(("parameter", side, node.id)), None
        if node.opcode == "constant":
            return self._number(self._forms[side].digests[node.id]), None
        attributes, order = (node.attributes, None) if as_written else _free_of_order(node)
        bodies = tuple(self._body(region) for region in node.regions)
        return self._number((node.opcode, node.shape, attributes, bodies)), order

    def _body(self, region: Graph) -> bytes:
        if id(region) not in self._regions:
            self._regions[id(region)] = region_digest(region, digests(region))
        return self._regions[id(region)]


def _free_of_order(node: Node) -> tuple[Hashable, Order | None]:
    """Attributes of a value without what only says in which order its operands stand."""
    if node.opcode in COMMUTATIVE:
        return node.attributes, sorted
    direction = node.attribute("comparison_direction")
    if node.opcode != "compare" or direction not in ("EQ", "NE", *MIRRORED):
        return node.attributes, None
    if direction in ("EQ", "NE"):
        return node.attributes, sorted
    mirrored = dict(node.attributes) | {"comparison_direction": MIRRORED[direction]}
    return tuple(sorted(mirrored.items())), _reversed


def _reversed(operands: list[int]) -> list[int]:
    return operands[::-1]


def _without(taken: set[int], numbers: Numbers) -> list[tuple[int, int]]:
    return [(key, number) for key, number in numbers.items() if key not in taken]


def _classes(known: Iterable[Match], left: Graph) -> tuple[Numbers, Numbers]:
    """A negative number for each set of values that matches hold together."""
    parents: list[int] = []
    sides: tuple[Numbers, Numbers] = ({}, {})
    for match in known:
        if not _holds_as_it_is(match, left):
            continue
        pair = (sides[0], match.left), (sides[1], match.right)
        roots = [_root(parents, side[key]) for side, key in pair if key in side]
        if not roots:
            parents.append(len(parents))
            roots = [parents[-1]]
        parents[roots[-1]] = roots[0]
        sides[0][match.left] = sides[1][match.right] = roots[0]
    left_numbers, right_numbers = ({key: -1 - _root(parents, number) for key, number in side.items()} for side in sides)
    return left_numbers, right_numbers


def _holds_as_it_is(match: Match, left: Graph) -> bool:
    """Whether what is computed from one of two values alike is computed from the other: not where one is transposed.

    The parts of a loop's state are matched one by one, for they may stand in another order.
    """
    if match.matcher == VALUE:
        return not match.note
    return match.matcher not in (REGION, SLOT) or left.nodes[match.left].shape.dtype != "tuple"


def _root(parents: list[int], key: int) -> int:
    while parents[key] != key:
        parents[key] = parents[parents[key]]
        key = parents[key]
    return key
