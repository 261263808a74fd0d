"""Matches by value: the same arrays on the same inputs, whatever formula they come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compare.hlo.align._alignment import NUMBER, VALUE, Match
from compare.hlo.align.by_number import Numbering
from compare.hlo.align.candidates import places_of
from compare.hlo.align.equal_values import EqualValues
from compare.hlo.graph import Graph, Node
from compare.hlo.pair import Pair

_ENOUGH_BITS = 32.0
"""By chance, one pair in four thousand million: what two cases tell of a float32 scalar."""
_CLOSE = 1e-6
"""Constants as near as this differ in how their decimals were rounded, and not in what they mean."""
_SPREAD = ("broadcast", "reshape", "convert")

Same = Callable[[int, int], bool]
Ids = Pair[int]


class ByValue:
    """Chooses among pairs of equal values those that match, given what is known; asked as often as more is known.

    What may be equal by chance is left alone: values that stay the same while their inputs change, that
    hold few different numbers, or that differ from the other one in a constant or an attribute only; and what
    rests on a branch or loop that was never entered and that has no partner. Values that depend on no parameter match
    where they are equal to the bit.
    """

    def __init__(self, graphs: Pair[Graph], numbering: Numbering, values: EqualValues) -> None:
        self._nodes = graphs.map(lambda graph: graph.nodes)
        self._numbering, self._values = numbering, values
        self._places = graphs.map(places_of) if values.pairs else Pair({}, {})
        self._pairs: Pair[dict[int, list[Ids]]] = Pair(defaultdict(list), defaultdict(list))
        for ids in values.pairs:
            self._pairs.left[ids.left].append(ids)
            self._pairs.right[ids.right].append(ids)

    def matches(self, known_matches: Sequence[Match]) -> list[Match]:
        """The best partner of every value that has none: of its own opcode, then at its own depth, then the nearest.

        Operands stand before their users, so a match may rest on one that was just made.
        """
        if not self._values.pairs:
            return []
        numbers = self._numbering.numbers(known_matches)
        new_pairs: set[Ids] = set()
        matches: list[Match] = []
        matched_keys = Pair({match.left for match in known_matches}, {match.right for match in known_matches})
        untried_keys = Pair(
            self._resting_on_untried(0, matched_keys.left), self._resting_on_untried(1, matched_keys.right)
        )

        def same(left: int, right: int) -> bool:
            return numbers.left[left] == numbers.right[right] or (left, right) in new_pairs

        for nodes, pairs, side_keys in zip(self._nodes, self._pairs, matched_keys, strict=True):
            for key in nodes:
                if key in side_keys or key not in pairs:
                    continue
                allowed_pairs = [
                    ids
                    for ids in pairs[key]
                    if ids.left not in untried_keys.left
                    and ids.right not in untried_keys.right
                    and self._is_allowed(ids, same)
                ]
                if allowed_pairs:
                    best = min(allowed_pairs, key=self._preference)
                    matched_keys.left.add(best.left)
                    matched_keys.right.add(best.right)
                    matches.append(self._match(best, same))
                    # What is computed from a value and from its transpose is not one.
                    new_pairs.update([best] if not matches[-1].note else [])
        return matches

    def _resting_on_untried(self, side: int, matched_keys: set[int]) -> set[int]:
        """Values of one side that are computed from what no case has tried, not by way of one that has a partner."""
        resting = set[int]()
        for key, node in self._nodes[side].items() if self._values.untried[side] else ():
            # What depends on no parameter takes the same branch whatever comes in.
            if (
                key not in matched_keys
                and key not in self._values.fixed[side]
                and (key in self._values.untried[side] or not resting.isdisjoint(node.operands))
            ):
                resting.add(key)
        return resting

    def _of(self, ids: Ids) -> Pair[Node]:
        return Pair(self._nodes.left[ids.left], self._nodes.right[ids.right])

    def _preference(self, ids: Ids) -> tuple[bool, int, int]:
        left, right = self._of(ids)
        one, other = self._places.left[ids.left], self._places.right[ids.right]
        return left.opcode != right.opcode, abs(one.depth - other.depth), abs(one.position - other.position)

    def _match(self, ids: Ids, same: Same) -> Match:
        equal = self._values.pairs[ids]
        if self._is_one_operation(ids, same):
            return Match(ids.left, ids.right, NUMBER, equal.ulp)
        left, right = self._of(ids)
        note = [str(equal.layout)] if str(equal.layout) else []
        note += [f"{left.shape.dtype} and {right.shape.dtype}"] if left.shape.dtype != right.shape.dtype else []
        return Match(ids.left, ids.right, VALUE, equal.ulp, ", ".join(note))

    def _is_allowed(self, ids: Ids, same: Same) -> bool:
        left, right = self._of(ids)
        if left.opcode == right.opcode == "parameter":
            return False
        if left.id in self._values.fixed.left:
            return True
        if self._is_one_operation(ids, same):
            return True
        if self._is_contradicted(left, right, same) or self._is_next(ids, same):
            return False
        if min(self._values.bits.left[left.id], self._values.bits.right[right.id]) >= _ENOUGH_BITS:
            return True
        # What tells little must stand at the same place besides.
        akin = left.opcode == right.opcode and left.attributes == right.attributes
        return akin and any(same(one, other) for one in left.operands for other in right.operands)

    def _is_one_operation(self, ids: Ids, same: Same) -> bool:
        operations = self._numbering.operations
        if operations.left[ids.left] != operations.right[ids.right]:
            return False
        left, right = self._of(ids)
        return self._correspond(left, right, same)

    def _correspond(self, left: Node, right: Node, holds: Same) -> bool:
        """Whether something holds for the operands of two values in pairs, in an order that makes no difference."""
        operations = self._numbering.operations
        operands, *_ = operations.left[left.id].orders(left.operands)
        return any(all(map(holds, operands, order)) for order in operations.right[right.id].orders(right.operands))

    def _is_contradicted(self, left: Node, right: Node, same: Same) -> bool:
        """Whether two values are equal by luck: one operation of the same operands, but for a constant or attribute."""
        if (left.opcode, left.shape) != (right.opcode, right.shape) or left.regions or right.regions:
            return False
        if len(left.operands) != len(right.operands) or not left.operands:
            return False

        def corresponds(one: int, other: int) -> bool:
            return same(one, other) or self._are_unlike_constants(one, other)

        return self._correspond(left, right, corresponds)

    def _is_next(self, ids: Ids, same: Same) -> bool:
        """Whether one is made from the other by a small change, as by adding an epsilon, and not by none."""
        left, right = self._of(ids)
        after = right.id not in self._values.idle.right and any(same(left.id, other) for other in right.operands)
        before = left.id not in self._values.idle.left and any(same(one, right.id) for one in left.operands)
        return self._values.pairs[ids].ulp != 0 and (after or before)

    def _are_unlike_constants(self, left: int, right: int) -> bool:
        if left not in self._values.fixed.left or right not in self._values.fixed.right:
            return False
        one, other = _literal(self._nodes.left, left), _literal(self._nodes.right, right)
        if one is None or other is None or one.shape != other.shape:
            return True
        wide = one.astype(np.complex128), other.astype(np.complex128)
        return not np.allclose(*wide, rtol=_CLOSE, atol=0.0, equal_nan=True)


def _literal(nodes: Mapping[int, Node], key: int) -> np.ndarray | None:
    """The constant that a value spreads, if it does no more than that."""
    while nodes[key].opcode in _SPREAD:
        (key,) = nodes[key].operands
    return nodes[key].literal
