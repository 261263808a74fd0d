"""Describes the difference of two values in one line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

import numpy as np

from compare.hlo.graph import Graph, Node
from compare.hlo.numbering import COMMUTATIVE
from compare.hlo.pair import Pair

_NONE: Set[int] = frozenset()


class Partners:
    """The paired values of two graphs, equal or only similar."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        self._of_left: dict[int, set[int]] = defaultdict(set)
        self._of_right: dict[int, set[int]] = defaultdict(set)
        for left, right in pairs:
            self.add(left, right)

    def add(self, left: int, right: int) -> None:
        """One more pair."""
        self._of_left[left].add(right)
        self._of_right[right].add(left)

    def of_left(self, key: int) -> Set[int]:
        """The partners of a left value."""
        return self._of_left.get(key, _NONE)

    def has_right(self, key: int) -> bool:
        """Whether a right value has a partner."""
        return key in self._of_right

    def __contains__(self, pair: tuple[int, int]) -> bool:
        left, right = pair
        return right in self._of_left.get(left, ())


def change(left: Node, right: Node, graphs: Pair[Graph], partners: Partners) -> str:
    """The change from the left value to the right one: "literal 0.001 -> 0.00101", "operands swapped"."""
    changes = [*_own(left, right), *_operands(left, right, graphs, partners)]
    return "; ".join(changes) or "operands or bodies differ in turn"


def _own(left: Node, right: Node) -> Iterator[str]:
    if left.opcode != right.opcode:
        yield f"opcode {left.opcode} -> {right.opcode}"
    if left.shape.dtype != right.shape.dtype:
        yield f"dtype {left.shape.dtype} -> {right.shape.dtype}"
    elif left.shape != right.shape:
        yield f"shape {left.shape} -> {right.shape}"
    elif left.literal is not None and right.literal is not None:
        yield from _literals(left.literal.ravel(), right.literal.ravel())
    if left.opcode == right.opcode:
        one, other = dict(left.attributes), dict(right.attributes)
        for name in sorted(one.keys() | other.keys()):
            if one.get(name) != other.get(name):
                yield f"{name} {attribute_text(one.get(name, ()))} -> {attribute_text(other.get(name, ()))}"


def _literals(one: np.ndarray, other: np.ndarray) -> Iterator[str]:
    # Bytes, so that NaN is itself and -0.0 is not 0.0.
    mine, theirs = (np.ascontiguousarray(array).view(np.uint8).reshape(array.size, -1) for array in (one, other))
    differs = np.flatnonzero(np.any(mine != theirs, axis=1)) if one.size else np.array([], np.int64)
    if differs.size and one.size == 1:
        yield f"literal {one[0]!s} -> {other[0]!s}"
    elif differs.size:
        first = int(differs[0])
        yield f"literal at {differs.size} of {one.size} places, first {one[first]!s} -> {other[first]!s}"


def _operands(left: Node, right: Node, graphs: Pair[Graph], partners: Partners) -> Iterator[str]:
    one, other = left.operands, right.operands
    if len(one) != len(other):
        yield f"{len(one)} operands -> {len(other)}"
        return
    if left.opcode in COMMUTATIVE and any(_are_partners(one, other[::-1], partners)):
        other = other[::-1]
    if all(_are_partners(one, other, partners)):
        return
    if len(one) == 2 and all(_are_partners(one, other[::-1], partners)):
        yield "operands swapped"
        return
    for position, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        # Where an operand has no partner at all, it is what was changed.
        if (mine, theirs) not in partners and partners.of_left(mine) and partners.has_right(theirs):
            before, after = _label(graphs.left.nodes[mine]), _label(graphs.right.nodes[theirs])
            yield f"operand {position} rewired: {before} -> {after}"


def _are_partners(one: Sequence[int], other: Sequence[int], partners: Partners) -> list[bool]:
    return [pair in partners for pair in zip(one, other, strict=True)]


def _label(node: Node) -> str:
    return f"{node.opcode} {node.name}"


def attribute_text(value: Any) -> str:
    """An attribute in the manner of HLO text, messages by their fields that are set."""
    if not isinstance(value, tuple):
        return str(value)
    if value and all(map(_is_field, value)):
        return f"{{{', '.join(f'{name}: {attribute_text(inner)}' for name, inner in value)}}}"
    return f"({', '.join(map(attribute_text, value))})"


def _is_field(value: Any) -> bool:
    """Whether it is one (name, value) of a message."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)
