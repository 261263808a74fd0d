"""Finds the operation that is wrong: given TensorFlow's value in its place, every result agrees."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo.causes import CHANGED, EXTRA, MISSING, Kind
from compare.hlo.locate._canonical import CARRIERS, RESULT, SPREAD, Computation
from compare.hlo.locate._departing import Agreement, MeasuredProgram, departing, first, kind_of
from compare.hlo.locate._measured import distance
from compare.hlo.locate._switches import READING, VALUE, Given, Switch, Switchboard
from compare.hlo.pair import Pair
from compare.hlo.slot_names import is_state

_MOST = 200
"""Attempts, where no single value is enough."""

_AT_ONCE = 8
"""Attempts in one request: what they share travels once."""

_PRODUCTS = frozenset({"convolution", "dot"})


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
        ends, departed = self.right.program.results, set(self.departed.right)
        return [name for name, key in ends.items() if name in self.left.program.results and key in departed]

    def reached(self, key: int) -> frozenset[str]:
        """Names of the results that differ and that a value of the right program has a part in."""
        if key in self._reached:
            return self._reached[key]
        users = self.right.program.users[key]
        return frozenset[str]().union(*(self._reached.get(user, frozenset()) for user in users))

    @cached_property
    def _reached(self) -> dict[int, frozenset[str]]:
        names: dict[int, list[str]] = {}
        for name in self.results:
            names.setdefault(self.right.program.results[name], []).append(name)
        reached: dict[int, frozenset[str]] = {}
        for key in reversed(self.departed.right):
            further = (reached.get(user, frozenset()) for user in self.right.program.users[key])
            reached[key] = frozenset(names.get(key, ())).union(*further)
        return reached


def part(left: MeasuredProgram, right: MeasuredProgram, agreed: Agreement) -> Parting:
    """Where two programs first differ, from what they agree on.

    Args:
      left: the original with its values.
      right: the port with its own.
      agreed: values that both have.
    """
    departed = Pair(_departed(left, right, agreed.left), _departed(right, left, agreed.right))
    started = Pair(first(left.program, departed.left), first(right.program, departed.right))
    return Parting(left, right, agreed, departed, started.map(tuple))


def _departed(side: MeasuredProgram, other: MeasuredProgram, agreed: Mapping[int, object]) -> tuple[int, ...]:
    # What only one side returns departs from nothing.
    alone = [key for name, key in side.program.results.items() if name not in other.program.results]
    return tuple(departing(side.program, [*agreed, *alone]))


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


def board(parting: Parting, cases: Sequence[Sequence[np.ndarray]]) -> Switchboard:
    """Switches for every departing value, and for what agrees of what they read."""
    program = parting.right.program
    read = {operand for key in parting.departed.right for operand in program.node(key).operands}
    return Switchboard(program, set(parting.departed.right), read - program.constants, cases)


def search(parting: Parting, switches: Switchboard, given: Given) -> Attempt | None:
    """The earliest attempt after which most results agree, or else most values; None where none helps.

    Args:
      parting: where the programs first differ.
      switches: computes the port with attempts made.
      given: attempts that stay made.
    """
    started = set(parting.first.right) | parting.narrow.right
    # The more results a value has a part in, the more it may mend: what can mend fewer is not tried then.
    ordered = sorted(parting.departed.right, key=lambda key: -len(parting.reached(key)))
    narrow = [key for key in ordered if key in started]
    wide = [key for key in ordered if key not in started]
    for keys in (narrow, wide):
        most, best = _best(parting, switches, given, _possible(parting, switches, keys))
        if best is not None:
            return _nearer(parting, switches, given, best) if most == len(parting.results) else best
    return _helping(parting, switches, given, _possible(parting, switches, parting.departed.right))


def _best(
    parting: Parting, switches: Switchboard, given: Given, possible: Iterator[Attempt]
) -> tuple[int, Attempt | None]:
    """The first attempt after which the most results agree, and how many do."""
    most: int = 0
    best: Attempt | None = None
    size, tried = 1, 0
    # No attempt mends a result that its value has no part in.
    promising = (attempt for attempt in possible if len(parting.reached(attempt.switch.key)) > most)
    while tried < _MOST and most < len(parting.results):
        attempts_ = list(itertools.islice(promising, size))
        if not attempts_:
            break
        for attempt, mended_ in zip(attempts_, _each_mended(parting, switches, given, attempts_), strict=True):
            if mended_ > most:
                most, best = mended_, attempt
        # The likeliest come first: one alone, and the more at once the longer it takes.
        tried, size = tried + size, min(2 * size, _AT_ONCE)
    return most, best


def _each_mended(parting: Parting, switches: Switchboard, given: Given, attempts_: Sequence[Attempt]) -> Iterator[int]:
    """How many results agree in every case after each of some attempts."""
    every = [{**given, attempt.switch: attempt.arrays} for attempt in attempts_]
    for candidate, values in zip(every, switches.each(every, 0), strict=True):
        names = [name for name in parting.results if _agrees(parting, values, name, 0)]
        yield _mended(parting, switches, candidate, names)


def _possible(parting: Parting, switches: Switchboard, keys: Sequence[int]) -> Iterator[Attempt]:
    return (attempt for key in keys for attempt in attempts(parting, key) if switches.can(attempt.switch))


def _narrow(
    side: MeasuredProgram, departed: Sequence[int], started: Sequence[int], results: Sequence[str]
) -> frozenset[int]:
    ends = [side.program.results[name] for name in results]
    return frozenset(key for key in departed if not _behind_all(side, ends, set(departed) - {key}) & set(started))


def _nearer(parting: Parting, switches: Switchboard, given: Given, attempt: Attempt) -> Attempt:
    """The attempt, or one at a first departure before it: the last value mends all and may hide a second error.

    Only where that departure has a counterpart of its own: else both are one formula for another.
    """
    if attempt.right in parting.first.right:
        return attempt
    started = behind(parting.right, attempt.right, parting.departed.right) & set(parting.first.right)
    own = (attempt for attempt in _possible(parting, switches, sorted(started)) if _is_counterpart(parting, attempt))
    helping = _helping(parting, switches, given, own)
    if helping is not None:
        return helping
    factor = _factor(parting, switches, attempt)
    return attempt if factor is None else _nearer(parting, switches, given, factor)


def _factor(parting: Parting, switches: Switchboard, attempt: Attempt) -> Attempt | None:
    """Of an attempt at a product, that at the only factor that departs: the product may be wrong besides."""
    right, left = parting.right.program, parting.left.program
    if attempt.kind != CHANGED or attempt.left is None:
        return None
    mine, theirs = left.node(attempt.left), right.node(attempt.right)
    if theirs.opcode not in _PRODUCTS or mine.opcode != theirs.opcode:
        return None
    # By place: another factor of the same shape is another value.
    pairs = zip(map(left.unspread, mine.operands), map(right.unspread, theirs.operands), strict=True)
    departed = [(own, key) for own, key in dict.fromkeys(pairs) if key in parting.departed.right]
    if len(departed) != 1:
        return None
    ((own, key),) = departed
    if own not in parting.departed.left or not _can_stand_for(parting.left, own, kind_of(parting.right.array(key))):
        return None
    factor = _changed(parting, key, own)
    return factor if switches.can(factor.switch) else None


def _is_counterpart(parting: Parting, attempt: Attempt) -> bool:
    """Whether both are one operation, and as many of what they read are no constants."""
    left, right = attempt.left, attempt.right
    if attempt.kind != CHANGED or left is None or left not in parting.first.left:
        return False
    mine, theirs = parting.left.program, parting.right.program
    same = mine.node(left).opcode == theirs.node(right).opcode
    return same and len(_variables_read(mine, left)) == len(_variables_read(theirs, right))


def _variables_read(program: Computation, key: int) -> list[int]:
    return [operand for operand in program.node(key).operands if operand not in program.constants]


def _helping(parting: Parting, switches: Switchboard, given: Given, possible: Iterable[Attempt]) -> Attempt | None:
    """The attempt after which most values that departed agree; None where none helps."""
    most: int = 0
    best: Attempt | None = None
    for attempt in itertools.islice(possible, _MOST):
        gained = _gained(parting, switches.run({**given, attempt.switch: attempt.arrays}, 0), attempt.right)
        if gained > most:
            most, best = gained, attempt
    return best


def attempts(parting: Parting, key: int) -> Iterator[Attempt]:
    """What a departing value may have to be, likeliest first."""
    left, right = parting.left, parting.right
    node = right.program.node(key)
    alike: list[int] = []
    if node.opcode != RESULT and node.shape.is_array and (key in parting.first.right or node.opcode not in SPREAD):
        kind = kind_of(right.array(key))
        alike = [candidate for candidate in parting.departed.left if _can_stand_for(left, candidate, kind)]
    starting = [start for start in alike if start in parting.first.left]
    same = [start for start in starting if left.program.node(start).opcode == node.opcode]
    yield from (_changed(parting, key, start) for start in same)
    if key in parting.first.right:
        yield from _bypassed(parting, key)
    yield from (_changed(parting, key, start) for start in starting if start not in same)
    if node.opcode not in SPREAD:
        yield from _skipped(parting, key)
    if node.opcode not in SPREAD and key not in parting.first.right:
        yield from _bypassed(parting, key)
    # What stands for a value that every departure passes through is such a value itself.
    later = [
        partner
        for partner in alike
        if partner not in starting
        and (partner in parting.narrow.left if key in parting.narrow.right else not _unlike(parting, key, partner)[0])
    ]
    yield from (
        _changed(parting, key, partner) for partner in sorted(later, key=lambda one: _unlike(parting, key, one))
    )


def _can_stand_for(side: MeasuredProgram, key: int, kind: tuple[int, str]) -> bool:
    node = side.program.node(key)
    return node.opcode != RESULT and node.shape.is_array and kind_of(side.array(key)) == kind


def _unlike(parting: Parting, key: int, other: int) -> tuple[bool, int]:
    return parting.right.program.node(key).opcode != parting.left.program.node(other).opcode, other


def _changed(parting: Parting, key: int, other: int) -> Attempt:
    return Attempt(CHANGED, key, other, Switch(VALUE, key), parting.left.measured.arrays[other])


def _bypassed(parting: Parting, key: int) -> Iterator[Attempt]:
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


def _skipped(parting: Parting, key: int) -> Iterator[Attempt]:
    """An operation put before it: its operand replaced by what the left program makes of the same value."""
    left, right = parting.left, parting.right
    for operand in dict.fromkeys(right.program.node(key).operands):
        if operand in parting.departed.right:
            continue
        same = parting.agreement.right.get(operand) or parting.agreement.right.get(right.program.carried(operand), ())
        partners = () if operand in right.program.constants else same
        read = dict.fromkeys(reader for partner in partners for reader in left.program.readers(partner))
        for other in read:
            arrays = left.measured.arrays.get(other) if other in parting.departed.left else None
            known = right.measured.arrays.get(operand)
            arrays = _filling(arrays, known[0]) if arrays and known else None
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


def mends(parting: Parting, switches: Switchboard, given: Given) -> bool:
    """Whether every result agrees when these values are given, those that departed before other attempts included.

    Args:
      parting: where the programs first differ.
      switches: run the right program with values given.
      given: the values.
    """
    shared = parting.left.program.results.keys()
    names = [name for name, key in parting.right.program.results.items() if key in switches.ends and name in shared]
    return _mended(parting, switches, given, names) == len(names)


def _mended(parting: Parting, switches: Switchboard, given: Given, names: Sequence[str]) -> int:
    """How many of these results agree, in every case, when these values are given."""
    return mended(parting, lambda at: switches.results(given, at), names)


def mended(parting: Parting, results: Callable[[int], dict[int, np.ndarray]], names: Sequence[str]) -> int:
    """How many of these results of the right program agree in every case, as it would give them.

    Args:
      parting: where the programs first differ.
      results: by case, the results of the right program.
      names: of the results to look at.
    """
    for at in range(len(next(iter(parting.left.measured.arrays.values())))):
        values = results(at) if names else {}
        names = [name for name in names if _agrees(parting, values, name, at)]
    return len(names)


def _agrees(parting: Parting, values: dict[int, np.ndarray], name: str, at: int) -> bool:
    left, right = parting.left, parting.right
    mine, theirs = left.program.results[name], values[right.program.results[name]]
    expected = left.measured.arrays[mine][at]
    same_type = is_state(name) or expected.dtype == theirs.dtype
    bound = 2 * left.measured.bounds[mine][at]
    return same_type and expected.shape == theirs.shape and distance(expected, theirs) <= bound


def _gained(parting: Parting, values: dict[int, np.ndarray], key: int) -> int:
    """How many departing values beyond one of them agree with a departing value of the left program now."""
    left = parting.left
    known: dict[tuple[int, str], list[int]] = {}
    for departed in parting.departed.left:
        if left.program.node(departed).shape.is_array:
            known.setdefault(kind_of(left.array(departed)), []).append(departed)
    return sum(
        any(
            distance(left.array(other).ravel(), array.ravel()) <= 2 * left.measured.bounds[other][0]
            for other in known.get(kind_of(array), ())
        )
        for candidate, array in values.items()
        if candidate != key and parting.right.program.node(candidate).opcode not in CARRIERS
    )


def behind(side: MeasuredProgram, key: int, within: Sequence[int]) -> set[int]:
    """Departing values that a departing value is computed from, itself included.

    Args:
      side: the program.
      key: the value.
      within: departing values.
    """
    return _behind_all(side, [key], set(within))


def _behind_all(side: MeasuredProgram, keys: Sequence[int], within: set[int]) -> set[int]:
    waiting, reached, nodes = list(keys), set[int](), side.program.graph.nodes
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting += [operand for operand in nodes[current].operands if operand in within]
    return reached
