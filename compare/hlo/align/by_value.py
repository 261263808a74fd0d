"""Matches by value: the same arrays on the same inputs, whatever formula they come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compare.hlo.align._alignment import NUMBER, VALUE, Match
from compare.hlo.align.by_number import Numbering
from compare.hlo.align.candidates import places_of
from compare.hlo.align.equal_values import Arguments, EqualValues, Pair, Runs, equal_values
from compare.hlo.align.fingerprints import TOLERANCE
from compare.hlo.align.intermediates import BUDGET
from compare.hlo.graph import Graph, Node
from compare.hlo.rewriting import Rewritten

_ENOUGH_BITS = 32.0
"""By chance, one pair in four thousand million: what two cases tell of a float32 scalar."""
_CLOSE = 1e-6
"""Constants as near as this differ in how their decimals were rounded, and not in what they mean."""
_SPREAD = ("broadcast", "reshape", "convert")

Same = Callable[[int, int], bool]


def by_value(
    left: Rewritten,
    right: Rewritten,
    known: Sequence[Match],
    cases: Sequence[Arguments],
    tolerance: float = TOLERANCE,
    budget: int = BUDGET,
) -> list[Match]:
    """Values without a partner that are equal to some value of the other graph in every case, up to their layout.

    What may be equal by chance is left alone: values that stay the same while their inputs change, that
    hold few different numbers, or that differ from the other one in a constant or an attribute only. Values
    that depend on no parameter match where they are equal to the bit.

    Args:
      known: matches that were found before; they are not repeated.
      cases: two at least, so that what is equal once is told from what is the same.
      tolerance: of float32, relative to each value's scale; other types scale with their precision.
      budget: bytes of intermediates to hold at a time.

    Raises:
      UnreadableProgram: this process's XLA cannot run a graph, for another reason than a call of a library.
    """
    graphs = left.graph, right.graph
    values = equal_values(graphs, known, Runs(graphs, lambda: cases, tolerance, budget))
    return ByValue(graphs, Numbering(left, right), values).matches(known)


class ByValue:
    """Chooses among pairs of equal values those that match, given what is known; asked as often as more is known."""

    def __init__(self, graphs: tuple[Graph, Graph], numbering: Numbering, values: EqualValues) -> None:
        self._nodes = graphs[0].nodes, graphs[1].nodes
        self._numbering, self._values = numbering, values
        self._places = places_of(graphs[0]), places_of(graphs[1])
        self._by_left: dict[int, list[Pair]] = defaultdict(list)
        self._by_right: dict[int, list[Pair]] = defaultdict(list)
        for pair in values.pairs:
            self._by_left[pair[0]].append(pair)
            self._by_right[pair[1]].append(pair)

    def matches(self, known: Sequence[Match]) -> list[Match]:
        """The best partner of every value that has none: of its own opcode, then at its own depth, then the nearest.

        Operands stand before their users, so a match may rest on one that was just made.
        """
        numbers = self._numbering.numbers(known)
        made: set[Pair] = set()
        found: list[Match] = []
        taken = {match.left for match in known}, {match.right for match in known}

        def same(left: int, right: int) -> bool:
            return numbers[0][left] == numbers[1][right] or (left, right) in made

        for side, pairs in enumerate((self._by_left, self._by_right)):
            for key in self._nodes[side]:
                if key in taken[side] or key not in pairs:
                    continue
                allowed = [pair for pair in pairs[key] if self._is_allowed(pair, same)]
                if allowed:
                    best = min(allowed, key=self._preference)
                    taken[0].add(best[0])
                    taken[1].add(best[1])
                    found.append(self._match(best, same))
                    # What is computed from a value and from its transpose is not one.
                    made.update([best] if not found[-1].note else [])
        return found

    def _preference(self, pair: Pair) -> tuple[bool, int, int]:
        one, other = self._places[0][pair[0]], self._places[1][pair[1]]
        unlike = self._nodes[0][pair[0]].opcode != self._nodes[1][pair[1]].opcode
        return unlike, abs(one[0] - other[0]), abs(one[1] - other[1])

    def _match(self, pair: Pair, same: Same) -> Match:
        equal = self._values.pairs[pair]
        if self._is_one_operation(pair, same):
            return Match(*pair, NUMBER, equal.ulp)
        left, right = self._nodes[0][pair[0]], self._nodes[1][pair[1]]
        note = [str(equal.layout)] if str(equal.layout) else []
        note += [f"{left.shape.dtype} and {right.shape.dtype}"] if left.shape.dtype != right.shape.dtype else []
        return Match(*pair, VALUE, equal.ulp, ", ".join(note))

    def _is_allowed(self, pair: Pair, same: Same) -> bool:
        left, right = self._nodes[0][pair[0]], self._nodes[1][pair[1]]
        if left.opcode == right.opcode == "parameter":
            return False
        if left.id in self._values.fixed[0]:
            return True
        if self._is_one_operation(pair, same):
            return True
        if self._is_contradicted(left, right, same) or self._is_next(pair, same):
            return False
        if min(self._values.bits[0][left.id], self._values.bits[1][right.id]) >= _ENOUGH_BITS:
            return True
        # What tells little must stand at the same place besides.
        akin = left.opcode == right.opcode and left.attributes == right.attributes
        return akin and any(same(one, other) for one in left.operands for other in right.operands)

    def _is_one_operation(self, pair: Pair, same: Same) -> bool:
        if not self._numbering.is_one_operation(*pair):
            return False
        return self._correspond(self._nodes[0][pair[0]], self._nodes[1][pair[1]], same)

    def _correspond(self, left: Node, right: Node, holds: Same) -> bool:
        """Whether something holds for the operands of two values in pairs, in an order that makes no difference."""
        operands = self._numbering.orders(0, left)[0]
        return any(all(map(holds, operands, order)) for order in self._numbering.orders(1, right))

    def _is_contradicted(self, left: Node, right: Node, same: Same) -> bool:
        """Whether two values are equal by luck: one operation of the same operands, but for a constant or attribute."""
        if (left.opcode, left.shape) != (right.opcode, right.shape) or left.regions or right.regions:
            return False
        if len(left.operands) != len(right.operands) or not left.operands:
            return False

        def corresponds(one: int, other: int) -> bool:
            return same(one, other) or self._are_unlike_constants(one, other)

        return self._correspond(left, right, corresponds)

    def _is_next(self, pair: Pair, same: Same) -> bool:
        """Whether one is made from the other by a small change, as by adding an epsilon, and not by none."""
        left, right = self._nodes[0][pair[0]], self._nodes[1][pair[1]]
        after = right.id not in self._values.idle[1] and any(same(left.id, other) for other in right.operands)
        before = left.id not in self._values.idle[0] and any(same(one, right.id) for one in left.operands)
        return self._values.pairs[pair].ulp != 0 and (after or before)

    def _are_unlike_constants(self, left: int, right: int) -> bool:
        if left not in self._values.fixed[0] or right not in self._values.fixed[1]:
            return False
        one, other = _literal(self._nodes[0], left), _literal(self._nodes[1], right)
        if one is None or other is None or one.shape != other.shape:
            return True
        wide = one.astype(np.complex128), other.astype(np.complex128)
        return not np.allclose(*wide, rtol=_CLOSE, atol=0.0, equal_nan=True)


def _literal(nodes: Mapping[int, Node], key: int) -> np.ndarray | None:
    """The constant that a value spreads, if it does no more than that."""
    while nodes[key].opcode in _SPREAD:
        (key,) = nodes[key].operands
    return nodes[key].literal
