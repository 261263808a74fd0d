"""Compares the operations of two values, and lists what differs if most is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from compare.hlo.graph import Node
from compare.hlo.locate import _naming
from compare.hlo.locate._attempts import Parting
from compare.hlo.locate._measured import exact
from compare.hlo.numbering import COMMUTATIVE
from compare.hlo.pair import Pair

_DEEPEST = 200
_MOST = 4000

CONSTANT, OPERAND, REDUCER, SWAPPED, TRANSPOSED = "constant", "operand", "reducer", "swapped", "transposed"
_SAME_ELEMENTS = frozenset({"reshape", "copy", "bitcast"})


@dataclass(frozen=True)
class OperationDifference:
    """Two operations at the same place, and their difference: one of the names above, or an attribute."""

    what: str
    left: int
    right: int


Differences = tuple[OperationDifference, ...] | None


def apart(parting: Parting, left: int, right: int) -> Differences:
    """All differences of two values' operations; None if one has an operation that the other lacks."""
    return _Walk(parting).pair(left, right, 0)


class _Walk:
    """One walk through two programs at once, which visits each pair once."""

    def __init__(self, parting: Parting) -> None:
        self._parting = parting
        self._programs = Pair(parting.left.program, parting.right.program)
        self._known: dict[tuple[int, int], Differences] = {}

    def pair(self, left: int, right: int, depth: int) -> Differences:
        """The differences that make two values differ.

        Args:
          depth: how many operations were followed to get there.
        """
        if left in self._parting.agreement.right.get(right, ()):
            return ()
        if (left, right) not in self._known:
            if depth > _DEEPEST or len(self._known) > _MOST:
                return None
            self._known[left, right] = self._compare(left, right, depth + 1)
        return self._known[left, right]

    def _compare(self, left: int, right: int, depth: int) -> Differences:
        mine, theirs = self._programs.left.node(left), self._programs.right.node(right)
        if left in self._programs.left.constants and right in self._programs.right.constants:
            return self._constants(left, right)
        departs = left in self._parting.departed.left or right in self._parting.departed.right
        if not departs and mine.shape.elements == theirs.shape.elements:
            return (OperationDifference(OPERAND, left, right),)
        if mine.opcode != theirs.opcode:
            return self._through(mine, theirs, depth)
        own = tuple(self._own(mine, theirs))
        operands = self._operands(mine, theirs, depth)
        return None if operands is None else (*own, *operands)

    def _constants(self, left: int, right: int) -> Differences:
        one, other = self._programs.left.graph.constant(left), self._programs.right.graph.constant(right)
        if one is None or other is None:
            return None
        same = one.size == other.size and np.array_equal(exact(one).ravel(), exact(other).ravel())
        return () if same else (OperationDifference(CONSTANT, left, right),)

    def _through(self, mine: Node, theirs: Node, depth: int) -> Differences:
        """The differences after copies of either value are followed."""
        if mine.opcode in _SAME_ELEMENTS:
            return self.pair(mine.operands[0], theirs.id, depth)
        if theirs.opcode in _SAME_ELEMENTS:
            return self.pair(mine.id, theirs.operands[0], depth)
        for node, pair in (mine, lambda key: (key, theirs.id)), (theirs, lambda key: (mine.id, key)):
            if node.opcode == "transpose":
                inner = self.pair(*pair(node.operands[0]), depth)
                return None if inner is None else (OperationDifference(TRANSPOSED, mine.id, theirs.id), *inner)
        return None

    def _own(self, mine: Node, theirs: Node) -> Iterator[OperationDifference]:
        for name in _naming.changed_attributes(mine, theirs):
            # A reshape has none, and what a broadcast spreads is looked at with its shape.
            yield OperationDifference(name, mine.id, theirs.id)
        if reducers(mine) != reducers(theirs):
            yield OperationDifference(REDUCER, mine.id, theirs.id)

    def _operands(self, mine: Node, theirs: Node, depth: int) -> Differences:
        if len(mine.operands) != len(theirs.operands) or mine.opcode in ("while", "conditional", "parameter"):
            return None
        straight = self._all(mine.operands, theirs.operands, depth)
        if mine.opcode in ("reduce", "reduce-window") and reducers(mine) != reducers(theirs):
            # The initial value of a reduction belongs to its reducer.
            half = len(mine.operands) // 2
            return self._all(mine.operands[:half], theirs.operands[:half], depth)
        if len(mine.operands) != 2 or straight == ():
            return straight
        across = self._all(mine.operands, theirs.operands[::-1], depth)
        # The order of the factors of a product shows in its axes, which are compared.
        if mine.opcode in COMMUTATIVE or mine.opcode == "dot":
            return min(
                (differences for differences in (straight, across) if differences is not None), key=len, default=None
            )
        return (OperationDifference(SWAPPED, mine.id, theirs.id),) if across == () else straight

    def _all(self, mine: tuple[int, ...], theirs: tuple[int, ...], depth: int) -> Differences:
        differences: dict[OperationDifference, None] = {}
        for left, right in zip(mine, theirs, strict=True):
            inner = self.pair(left, right, depth)
            if inner is None:
                return None
            differences |= dict.fromkeys(inner)
        return tuple(differences)


def reducers(node: Node) -> tuple[tuple[str, ...], ...]:
    """The opcodes in the regions of an operation."""
    return tuple(tuple(_naming.opcodes(region)) for region in node.regions)
