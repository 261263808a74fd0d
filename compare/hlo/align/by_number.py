"""Matches by value number: the same operation of matched operands, whichever matcher found these."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import permutations

import msgspec

from compare.hlo.align._alignment import NUMBER, REGION, SLOT, VALUE, Match
from compare.hlo.graph import Graph, Node
from compare.hlo.numbering import COMMUTATIVE, MIRRORED, digests, region_digest
from compare.hlo.pair import Pair
from compare.hlo.rewriting import Rewritten

Numbers = dict[int, int]
"""By value, its number."""
Order = Callable[[list[int]], list[int]]


class Operation(msgspec.Struct, frozen=True, gc=False):
    """A value's operation as a number, and the order of its operands; None for the given order."""

    signature: int
    order: Order | None = None

    def orders(self, operands: Sequence[int]) -> list[tuple[int, ...]]:
        """The orders in which operands may stand, as far as the operation does not depend on them."""
        if self.order is sorted:
            return list(permutations(operands))
        return [tuple(self.order(list(operands)) if self.order else operands)]


class Numbering:
    """Numbers for the values of two graphs, equal where two are the same operation of operands with equal numbers.

    Numbers start from matches: matched values have one number, and parameters without a match each their
    own. One pass a call, linear in both graphs.
    """

    def __init__(self, forms: Pair[Rewritten], as_written: bool = False) -> None:
        """`as_written` holds operands to their order even where the operation does not depend on it."""
        self._graphs = forms.map(lambda form: form.graph)
        self._as_written = as_written
        self._table: dict[Hashable, int] = {}
        self._regions: dict[Graph, bytes] = {}
        self.operations = forms.map(self._operations)
        self._asked: list[Match] | None = None
        self._answered: Pair[Numbers] = Pair({}, {})

    def numbers(self, known_matches: Sequence[Match]) -> Pair[Numbers]:
        """The number of every value of either graph."""
        # Matchers ask in turn, and most of them have found nothing in between.
        if self._asked != known_matches:
            self._asked, self._answered = (
                [*known_matches],
                self.extend_numbers(_classes(known_matches, self._graphs.left)),
            )
        return self._answered

    def extend_numbers(self, start_numbers: Pair[Numbers]) -> Pair[Numbers]:
        """The numbering that continues from negative numbers of some values."""
        return Pair(
            self._number_values(self._graphs.left, self.operations.left, start_numbers.left),
            self._number_values(self._graphs.right, self.operations.right, start_numbers.right),
        )

    def matches(self, known_matches: Sequence[Match]) -> list[Match]:
        """Values that have a number of the other graph and no partner yet."""
        left, right = self.numbers(known_matches)
        partners = {number: key for key, number in reversed(right.items())}
        matches = [
            Match(key, partners[number], NUMBER)
            for key, number in _without({match.left for match in known_matches}, left)
            if number in partners
        ]
        right_keys = {match.right for match in known_matches} | {match.right for match in matches}
        partners = {number: key for key, number in reversed(left.items())}
        twice = [
            Match(partners[number], key, NUMBER) for key, number in _without(right_keys, right) if number in partners
        ]
        return matches + twice

    def _number_values(self, graph: Graph, operations: Mapping[int, Operation], start_numbers: Numbers) -> Numbers:
        numbers: Numbers = {}
        table = self._table
        for node in graph:
            number = start_numbers.get(node.id)
            if number is None:
                operation = operations[node.id]
                operands = [numbers[key] for key in node.operands]
                operands_in_order = operation.order(operands) if operation.order else operands
                number = table.setdefault((operation.signature, *operands_in_order), len(table))
            numbers[node.id] = number
        return numbers

    def _number(self, key: Hashable) -> int:
        return self._table.setdefault(key, len(self._table))

    def _operations(self, form: Rewritten) -> dict[int, Operation]:
        return {node.id: self._operation(node, form) for node in form.graph}

    def _operation(self, node: Node, form: Rewritten) -> Operation:
        if node.opcode == "parameter":
            # A key of its own: no parameter is another one until a match says so.
            return Operation(self._number(object()))
        if node.opcode == "constant":
            return Operation(self._number(form.digests[node.id]))
        attributes, order = (node.attributes, None) if self._as_written else _free_of_order(node)
        bodies = tuple(self._body(region) for region in node.regions)
        return Operation(self._number((node.opcode, node.shape, attributes, bodies)), order)

    def _body(self, region: Graph) -> bytes:
        if region not in self._regions:
            self._regions[region] = region_digest(region, digests(region))
        return self._regions[region]


def _free_of_order(node: Node) -> tuple[Hashable, Order | None]:
    """Attributes of a value without what only says in which order its operands stand."""
    if node.opcode in COMMUTATIVE:
        return node.attributes, sorted
    direction = node.attribute("comparison_direction") if node.opcode == "compare" else None
    if direction not in ("EQ", "NE", *MIRRORED):
        return node.attributes, None
    if direction in ("EQ", "NE"):
        return node.attributes, sorted
    mirrored_attributes = dict(node.attributes) | {"comparison_direction": MIRRORED[direction]}
    return tuple(sorted(mirrored_attributes.items())), _reverse


def _reverse(operands: list[int]) -> list[int]:
    return operands[::-1]


def _without(keys_to_skip: set[int], numbers: Numbers) -> list[tuple[int, int]]:
    return [(key, number) for key, number in numbers.items() if key not in keys_to_skip]


def _classes(known_matches: Iterable[Match], left_graph: Graph) -> Pair[Numbers]:
    """A negative number for each set of values that matches hold together."""
    parents: list[int] = []
    sets: Pair[Numbers] = Pair({}, {})
    for match in known_matches:
        if not _holds_as_it_is(match, left_graph):
            continue
        ends = (sets.left, match.left), (sets.right, match.right)
        roots = [_root(parents, numbers[key]) for numbers, key in ends if key in numbers]
        if not roots:
            parents.append(len(parents))
            roots = [parents[-1]]
        first, last = roots[0], roots[-1]
        parents[last] = first
        sets.left[match.left] = sets.right[match.right] = first
    return sets.map(lambda numbers: {key: -1 - _root(parents, number) for key, number in numbers.items()})


def _holds_as_it_is(match: Match, left_graph: Graph) -> bool:
    """Whether what is computed from one of two values alike is computed from the other: not where one is transposed.

    The parts of a loop's state are matched one by one, for they may stand in another order.
    """
    if match.matcher == VALUE:
        return not match.note
    return match.matcher not in (REGION, SLOT) or left_graph.nodes[match.left].shape.dtype != "tuple"


def _root(parents: list[int], key: int) -> int:
    while parents[key] != key:
        parents[key] = parents[parents[key]]
        key = parents[key]
    return key
