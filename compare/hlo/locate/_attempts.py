"""Where two programs part, and what may be tried there: a value of one program in the place of one of the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo.causes import CHANGED, EXTRA, MISSING, Kind
from compare.hlo.locate._canonical import CARRIERS, RESULT, SPREAD
from compare.hlo.locate._departing import Agreement, MeasuredProgram, departing, first, kind_of
from compare.hlo.locate._switches import READING, VALUE, Switch
from compare.hlo.pair import Pair

PRODUCTS = frozenset({"convolution", "dot"})


@dataclass(frozen=True, eq=False)
class Parting:
    """Where two programs first differ: what departs on either side, and what of it reads only what agrees."""

    left: MeasuredProgram
    right: MeasuredProgram
    agreement: Agreement
    departed: Pair[tuple[int, ...]]
    first: Pair[tuple[int, ...]]

    @cached_property
    def narrow(self) -> Pair[frozenset[int]]:
        """On either side, values that every departure passes through on its way to the results."""
        return Pair(
            _narrow(self.left, self.departed.left, self.first.left, self.results),
            _narrow(self.right, self.departed.right, self.first.right, self.results),
        )

    @cached_property
    def results(self) -> list[str]:
        """Names of the results that differ."""
        ends, departing_keys = self.right.program.results, set(self.departed.right)
        return [name for name, key in ends.items() if name in self.left.program.results and key in departing_keys]

    def results_after(self, key: int) -> frozenset[str]:
        """Names of the results that differ and that a value of the right program has a part in."""
        if key in self._results_after:
            return self._results_after[key]
        users = self.right.program.users[key]
        return frozenset[str]().union(*(self._results_after.get(user, frozenset()) for user in users))

    @cached_property
    def _results_after(self) -> dict[int, frozenset[str]]:
        names: dict[int, list[str]] = {}
        for name in self.results:
            names.setdefault(self.right.program.results[name], []).append(name)
        names_after: dict[int, frozenset[str]] = {}
        for key in reversed(self.departed.right):
            further = (names_after.get(user, frozenset()) for user in self.right.program.users[key])
            names_after[key] = frozenset(names.get(key, ())).union(*further)
        return names_after


def part(left: MeasuredProgram, right: MeasuredProgram, agreement: Agreement) -> Parting:
    """Where two programs first differ, from what they agree on."""
    departing = Pair(_find_departing(left, right, agreement.left), _find_departing(right, left, agreement.right))
    starts = Pair(first(left.program, departing.left), first(right.program, departing.right))
    return Parting(left, right, agreement, departing, starts.map(tuple))


def _find_departing(side: MeasuredProgram, other: MeasuredProgram, agreement: Mapping[int, object]) -> tuple[int, ...]:
    # What only one side returns departs from nothing.
    alone = [key for name, key in side.program.results.items() if name not in other.program.results]
    return tuple(departing(side.program, [*agreement, *alone]))


@dataclass(frozen=True, eq=False)
class Attempt:
    """A value of the right program given what a value of the left is.

    `right` is the operation under suspicion, `left` its counterpart; None of an operation too many.
    """

    kind: Kind
    right: int
    left: int | None
    switch: Switch
    arrays: Sequence[np.ndarray]


def attempts(parting: Parting, key: int) -> Iterator[Attempt]:
    """Attempts at the right value in place of one that differs, the likeliest first."""
    left, right = parting.left, parting.right
    node = right.program.node(key)
    alike: list[int] = []
    if node.opcode != RESULT and node.shape.is_array and (key in parting.first.right or node.opcode not in SPREAD):
        kind = kind_of(right.array(key))
        alike = [candidate for candidate in parting.departed.left if can_stand_for(left, candidate, kind)]
    starting = [start for start in alike if start in parting.first.left]
    same = [start for start in starting if left.program.node(start).opcode == node.opcode]
    yield from (attempt_change(parting, key, start) for start in same)
    if key in parting.first.right:
        yield from _attempt_bypasses(parting, key)
    yield from (attempt_change(parting, key, start) for start in starting if start not in same)
    if node.opcode not in SPREAD:
        yield from _attempt_skips(parting, key)
    if node.opcode not in SPREAD and key not in parting.first.right:
        yield from _attempt_bypasses(parting, key)
    # What stands for a value that every departure passes through is such a value itself.
    later = [
        partner
        for partner in alike
        if partner not in starting
        and (partner in parting.narrow.left if key in parting.narrow.right else not _unlike(parting, key, partner)[0])
    ]
    yield from (
        attempt_change(parting, key, partner) for partner in sorted(later, key=lambda one: _unlike(parting, key, one))
    )


def can_stand_for(side: MeasuredProgram, key: int, kind: tuple[int, str]) -> bool:
    """Whether a value may take the place of one of that kind."""
    node = side.program.node(key)
    return node.opcode != RESULT and node.shape.is_array and kind_of(side.array(key)) == kind


def _unlike(parting: Parting, key: int, other: int) -> tuple[bool, int]:
    return parting.right.program.node(key).opcode != parting.left.program.node(other).opcode, other


def attempt_change(parting: Parting, key: int, other: int) -> Attempt:
    """The attempt to give a value of the right program what one of the left is."""
    return Attempt(CHANGED, key, other, Switch(VALUE, key), parting.left.measured.arrays[other])


def _attempt_bypasses(parting: Parting, key: int) -> Iterator[Attempt]:
    """Operations left out: in their place an agreeing value that they begin with."""
    side, program = parting.right, parting.right.program
    if key not in side.measured.arrays or program.node(key).opcode == RESULT:
        return
    starts = [start for start in sorted(behind(side, key, parting.departed.right)) if start in parting.first.right]
    read = dict.fromkeys(operand for start in (*starts, key) for operand in program.node(start).operands)
    for operand in (value for value in read if value not in parting.departed.right):
        arrays = side.measured.arrays.get(operand)
        if arrays and operand not in program.constants and kind_of(arrays[0]) == kind_of(side.array(key)):
            yield Attempt(EXTRA, key, None, Switch(VALUE, key), arrays)


def _attempt_skips(parting: Parting, key: int) -> Iterator[Attempt]:
    """An operation put before it: its operand replaced by what the left program makes of the same value."""
    left, right = parting.left, parting.right
    for operand in dict.fromkeys(right.program.node(key).operands):
        if operand in parting.departed.right:
            continue
        same = parting.agreement.right.get(operand) or parting.agreement.right.get(
            right.program.original_of(operand), ()
        )
        partners = () if operand in right.program.constants else same
        read = dict.fromkeys(reader for partner in partners for reader in left.program.readers(partner))
        for other in read:
            arrays = left.measured.arrays.get(other) if other in parting.departed.left else None
            own_arrays = right.measured.arrays.get(operand)
            arrays = _filling(arrays, own_arrays[0]) if arrays and own_arrays else None
            if arrays and _read_alike(parting, other, key):
                yield Attempt(MISSING, key, other, Switch(READING, operand), arrays)


def _filling(arrays: Sequence[np.ndarray], like: np.ndarray) -> list[np.ndarray] | None:
    """The arrays where they have the elements of another, a single number as often as it takes."""
    if kind_of(arrays[0])[1] != kind_of(like)[1] or arrays[0].size not in (1, like.size):
        return None
    return [np.broadcast_to(array.ravel(), like.size) for array in arrays]


def _read_alike(parting: Parting, left: int, right: int) -> bool:
    """Whether something that reads the left value does what the right operation, or what reads it, does."""
    program = parting.right.program
    moves = program.node(right).opcode in CARRIERS and program.node(right).opcode != RESULT
    theirs = {program.node(reader).opcode for reader in (program.readers(right) if moves else [right])}
    mine = {parting.left.program.node(reader).opcode for reader in parting.left.program.readers(left)}
    return bool(mine & theirs)


def _narrow(
    side: MeasuredProgram, departing_keys: Sequence[int], starts: Sequence[int], results: Sequence[str]
) -> frozenset[int]:
    ends = [side.program.results[name] for name in results]
    return frozenset(
        key for key in departing_keys if not _behind_all(side, ends, set(departing_keys) - {key}) & set(starts)
    )


def behind(side: MeasuredProgram, key: int, within: Sequence[int]) -> set[int]:
    """Departing values that a departing value is computed from, itself included."""
    return _behind_all(side, [key], set(within))


def _behind_all(side: MeasuredProgram, keys: Sequence[int], within: set[int]) -> set[int]:
    waiting, keys_behind, nodes = list(keys), set[int](), side.program.graph.nodes
    while waiting:
        current = waiting.pop()
        if current not in keys_behind:
            keys_behind.add(current)
            waiting += [operand for operand in nodes[current].operands if operand in within]
    return keys_behind
