"""Finds the values of two programs that agree, those that differ, and the first that differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from compare.hlo.graph import Node
from compare.hlo.locate._canonical import RESULT, SPREAD, Computation
from compare.hlo.locate._measured import MeasuredValues, distance, exact, is_float
from compare.hlo.pair import Pair
from compare.hlo.slot_names import is_state


@dataclass(frozen=True, eq=False)
class MeasuredProgram:
    """A program, its values, and by case whether small changes of the arguments make small changes of values."""

    program: Computation
    measured: MeasuredValues
    smooth: tuple[bool, ...] = ()

    def array(self, key: int) -> np.ndarray:
        """A value in the first case."""
        return self.measured.arrays[key][0]


@dataclass(frozen=True, eq=False)
class Agreement:
    """Values of either side that the other side has as well, by value, the nearest in kind first."""

    left: Mapping[int, tuple[int, ...]]
    right: Mapping[int, tuple[int, ...]]


def agreement(left: MeasuredProgram, right: MeasuredProgram) -> Agreement:
    """Pair values whose arrays agree in every case, whatever their shape; results only under one name."""
    partners: Pair[dict[int, list[int]]] = Pair({}, {})
    for mine, theirs in _candidates(left, right):
        if _agree(left, mine, right, theirs):
            partners.left.setdefault(mine, []).append(theirs)
            partners.right.setdefault(theirs, []).append(mine)
    return Agreement(_sort_partners(partners.left, left, right), _sort_partners(partners.right, right, left))


def _sort_partners(
    partners_of: Mapping[int, list[int]], own: MeasuredProgram, other: MeasuredProgram
) -> dict[int, tuple[int, ...]]:
    def unlike(key: int, partner: int) -> tuple[bool, int]:
        return own.program.node(key).opcode != other.program.node(partner).opcode, partner

    return {key: tuple(sorted(partners, key=lambda one: unlike(key, one))) for key, partners in partners_of.items()}


def _candidates(left: MeasuredProgram, right: MeasuredProgram) -> list[tuple[int, int]]:
    """Pairs of one size and kind whose sums are near enough; results by name."""
    shared_names = left.program.results.keys() & right.program.results.keys()
    pairs = [(left.program.results[name], right.program.results[name]) for name in sorted(shared_names)]
    buckets = _buckets(left)
    for kind, theirs in _buckets(right).items():
        mine = buckets.get(kind, [])
        sums = np.array([_sum(left, key) for key in mine])
        slack = np.array([_slack(left, key) for key in mine])
        for key in theirs if mine else []:
            near = np.abs(sums - _sum(right, key)) <= slack + _slack(right, key)
            pairs += [(mine[index], key) for index in np.flatnonzero(near)]
    return pairs


def kind_of(array: np.ndarray) -> tuple[int, str]:
    """Values of different kinds are never the same."""
    return array.size, "f" if is_float(array) else array.dtype.kind.replace("u", "i")


def _buckets(side: MeasuredProgram) -> dict[tuple[int, str], list[int]]:
    buckets: dict[tuple[int, str], list[int]] = {}
    for key in side.measured.arrays:
        if side.program.node(key).opcode != RESULT:
            buckets.setdefault(kind_of(side.array(key)), []).append(key)
    return buckets


def _sum(side: MeasuredProgram, key: int) -> float:
    array = exact(side.array(key)).ravel()
    weights = 1 + np.arange(array.size) % 7
    return float(np.real(np.sum(np.where(np.isfinite(array), array, 0) * weights)))


def _slack(side: MeasuredProgram, key: int) -> float:
    return 8 * side.array(key).size * (side.measured.bounds[key][0] + 1e-15)


def _agree(left: MeasuredProgram, mine: int, right: MeasuredProgram, theirs: int) -> bool:
    one, other = left.program.node(mine), right.program.node(theirs)
    if one.opcode == RESULT and not _same_type(one, other):
        return False
    if one.opcode != other.opcode and _is_flat(left, mine) and not _is_constant(left, mine, right, theirs):
        return False
    return all(
        distance(a.ravel(), b.ravel()) <= p + q
        for a, b, p, q in zip(
            left.measured.arrays[mine], right.measured.arrays[theirs],
            left.measured.bounds[mine], right.measured.bounds[theirs], strict=True,
        )
    )  # fmt: skip


def _same_type(left: Node, right: Node) -> bool:
    # An optimizer chooses the type of its counters, which nothing else reads.
    own = is_state(left.name)
    return left.shape.dimensions == right.shape.dimensions and (own or left.shape.dtype == right.shape.dtype)


def _is_flat(side: MeasuredProgram, key: int) -> bool:
    """Whether all elements are one number: many values are zero, or one, and nothing else in common."""
    return all(array.size > 1 and bool(np.all(array == array.flat[0])) for array in side.measured.arrays[key])


def _is_constant(left: MeasuredProgram, mine: int, right: MeasuredProgram, theirs: int) -> bool:
    return mine in left.program.constants or theirs in right.program.constants


def departing(program: Computation, agreed_keys: Collection[int]) -> list[int]:
    """Values that do not agree and from which others that do not lead to a result that does not, in order."""
    same = agreeing(program, agreed_keys)
    waiting = [key for key in program.results.values() if key not in same]
    departing_keys: set[int] = set()
    while waiting:
        key = waiting.pop()
        if key not in departing_keys:
            departing_keys.add(key)
            waiting += [operand for operand in program.node(key).operands if operand not in same]
    return [key for key in program.graph.nodes if key in departing_keys]


def agreeing(program: Computation, agreed_keys: Collection[int]) -> set[int]:
    """The values that agree: the given ones, parameters, constants, and tuples and copies of these."""
    keys = set(agreed_keys) | set(program.constants) | set(program.graph.parameters)
    ends = {key for key in program.results.values() if key not in agreed_keys}
    for node in program.graph:
        if node.opcode in SPREAD and node.operands[0] in keys:
            keys.add(node.id)
        elif not node.shape.is_array:
            parts = node.operands if node.opcode == "tuple" else program.users[node.id]
            if all(part in keys for part in parts):
                keys.add(node.id)
    return keys - ends


def first(program: Computation, departing_keys: Collection[int]) -> list[int]:
    """Departing values none of whose operands departs."""
    return [
        key for key in departing_keys if not any(operand in departing_keys for operand in program.node(key).operands)
    ]
