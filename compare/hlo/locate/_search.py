"""Finds the operation that is wrong: given TensorFlow's value in its place, every result agrees."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from compare.hlo.causes import CHANGED
from compare.hlo.locate._attempts import PRODUCTS, Attempt, Parting, attempt_change, attempts, behind, can_stand_for
from compare.hlo.locate._canonical import CARRIERS, Computation
from compare.hlo.locate._departing import kind_of
from compare.hlo.locate._measured import distance
from compare.hlo.locate._switches import Given, Switchboard
from compare.hlo.slot_names import is_state

_MOST = 200
"""Attempts, where no single value is enough."""

_AT_ONCE = 8
"""Attempts in one request: what they share travels once."""


def board(parting: Parting, cases: Sequence[Sequence[np.ndarray]]) -> Switchboard:
    """Switches for every departing value, and for what agrees of what they read."""
    program = parting.right.program
    read = {operand for key in parting.departed.right for operand in program.node(key).operands}
    return Switchboard(program, set(parting.departed.right), read - program.constants, cases)


def search(parting: Parting, switches: Switchboard, changes: Given) -> Attempt | None:
    """The earliest attempt after which most results agree, or else most values; None where none helps."""
    starts = set(parting.first.right) | parting.narrow.right
    # The more results a value has a part in, the more it may mend: what can mend fewer is not tried then.
    by_reach = sorted(parting.departed.right, key=lambda key: -len(parting.results_after(key)))
    narrow = [key for key in by_reach if key in starts]
    wide = [key for key in by_reach if key not in starts]
    for keys in (narrow, wide):
        most, best = _best(parting, switches, changes, _possible(parting, switches, keys))
        if best is not None:
            return _nearer(parting, switches, changes, best) if most == len(parting.results) else best
    return _helping(parting, switches, changes, _possible(parting, switches, parting.departed.right))


def _best(
    parting: Parting, switches: Switchboard, changes: Given, possible: Iterator[Attempt]
) -> tuple[int, Attempt | None]:
    """The first attempt after which the most results agree, and how many do."""
    most: int = 0
    best: Attempt | None = None
    size, count = 1, 0
    # No attempt mends a result that its value has no part in.
    promising = (attempt for attempt in possible if len(parting.results_after(attempt.switch.key)) > most)
    while count < _MOST and most < len(parting.results):
        attempts_ = list(itertools.islice(promising, size))
        if not attempts_:
            break
        for attempt, agreeing_count in zip(attempts_, _each_mended(parting, switches, changes, attempts_), strict=True):
            if agreeing_count > most:
                most, best = agreeing_count, attempt
        # The likeliest come first: one alone, and the more at once the longer it takes.
        count, size = count + size, min(2 * size, _AT_ONCE)
    return most, best


def _each_mended(
    parting: Parting, switches: Switchboard, changes: Given, attempts_: Sequence[Attempt]
) -> Iterator[int]:
    """How many results agree in every case after each of some attempts."""
    every = [{**changes, attempt.switch: attempt.arrays} for attempt in attempts_]
    for candidate, values in zip(every, switches.each(every, 0), strict=True):
        names = [name for name in parting.results if _agrees(parting, values, name, 0)]
        yield _count_mended(parting, switches, candidate, names)


def _possible(parting: Parting, switches: Switchboard, keys: Sequence[int]) -> Iterator[Attempt]:
    return (attempt for key in keys for attempt in attempts(parting, key) if switches.can(attempt.switch))


def _nearer(parting: Parting, switches: Switchboard, changes: Given, attempt: Attempt) -> Attempt:
    """The attempt, or one at a first departure before it: the last value mends all and may hide a second error.

    Only where that departure has a counterpart of its own: else both are one formula for another.
    """
    if attempt.right in parting.first.right:
        return attempt
    starts = behind(parting.right, attempt.right, parting.departed.right) & set(parting.first.right)
    own = (attempt for attempt in _possible(parting, switches, sorted(starts)) if _is_counterpart(parting, attempt))
    helping = _helping(parting, switches, changes, own)
    if helping is not None:
        return helping
    factor = _factor(parting, switches, attempt)
    return attempt if factor is None else _nearer(parting, switches, changes, factor)


def _factor(parting: Parting, switches: Switchboard, attempt: Attempt) -> Attempt | None:
    """The attempt at the only factor of a product that differs: the product may be wrong too."""
    right, left = parting.right.program, parting.left.program
    if attempt.kind != CHANGED or attempt.left is None:
        return None
    mine, theirs = left.node(attempt.left), right.node(attempt.right)
    if theirs.opcode not in PRODUCTS or mine.opcode != theirs.opcode:
        return None
    # By place: another factor of the same shape is another value.
    pairs = zip(map(left.unspread, mine.operands), map(right.unspread, theirs.operands), strict=True)
    departing_pairs = [(own, key) for own, key in dict.fromkeys(pairs) if key in parting.departed.right]
    if len(departing_pairs) != 1:
        return None
    ((own, key),) = departing_pairs
    if own not in parting.departed.left or not can_stand_for(parting.left, own, kind_of(parting.right.array(key))):
        return None
    factor = attempt_change(parting, key, own)
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


def _helping(parting: Parting, switches: Switchboard, changes: Given, possible: Iterable[Attempt]) -> Attempt | None:
    """The attempt after which most values that departed agree; None where none helps."""
    most: int = 0
    best: Attempt | None = None
    for attempt in itertools.islice(possible, _MOST):
        gain = _gain(parting, switches.run({**changes, attempt.switch: attempt.arrays}, 0), attempt.right)
        if gain > most:
            most, best = gain, attempt
    return best


def mends(parting: Parting, switches: Switchboard, changes: Given) -> bool:
    """Whether every result agrees when these values are given, those that departed before other attempts included."""
    left_results = parting.left.program.results.keys()
    names = [
        name for name, key in parting.right.program.results.items() if key in switches.ends and name in left_results
    ]
    return _count_mended(parting, switches, changes, names) == len(names)


def _count_mended(parting: Parting, switches: Switchboard, changes: Given, names: Sequence[str]) -> int:
    """How many of these results agree, in every case, when these values are given."""
    return count_mended(parting, lambda case: switches.results(changes, case), names)


def count_mended(parting: Parting, results: Callable[[int], dict[int, np.ndarray]], names: Sequence[str]) -> int:
    """How many of these results of the right program agree in every case, as it would give them.

    Args:
      results: by case, the results of the right program.
    """
    for case in range(len(next(iter(parting.left.measured.arrays.values())))):
        values = results(case) if names else {}
        names = [name for name in names if _agrees(parting, values, name, case)]
    return len(names)


def _agrees(parting: Parting, values: dict[int, np.ndarray], name: str, case: int) -> bool:
    left, right = parting.left, parting.right
    mine, theirs = left.program.results[name], values[right.program.results[name]]
    expected = left.measured.arrays[mine][case]
    same_type = is_state(name) or expected.dtype == theirs.dtype
    bound = 2 * left.measured.bounds[mine][case]
    return same_type and expected.shape == theirs.shape and distance(expected, theirs) <= bound


def _gain(parting: Parting, values: dict[int, np.ndarray], key: int) -> int:
    """How many departing values beyond one of them agree with a departing value of the left program now."""
    left_side = parting.left
    by_kind: dict[tuple[int, str], list[int]] = {}
    for left_key in parting.departed.left:
        if left_side.program.node(left_key).shape.is_array:
            by_kind.setdefault(kind_of(left_side.array(left_key)), []).append(left_key)
    return sum(
        any(
            distance(left_side.array(other).ravel(), array.ravel()) <= 2 * left_side.measured.bounds[other][0]
            for other in by_kind.get(kind_of(array), ())
        )
        for candidate, array in values.items()
        if candidate != key and parting.right.program.node(candidate).opcode not in CARRIERS
    )
