"""Proofs by what both values are: known functions of the same value, of which one is TensorFlow's.

A proof returns what more there is to say ("" of nothing), or None where it is not made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compare.hlo.locate import _known_functions, _naming
from compare.hlo.locate._excerpt import Arrays
from compare.hlo.locate._measured import is_real
from compare.hlo.locate._spot import Spot

Proof = Callable[[Spot], str | None]
Reduced = tuple[str, tuple[int, ...]]
"""A reducer and its axes."""


def wherever(proof: Proof) -> Proof:
    """The same of what is computed from the value, a few operations on: a function may end there."""
    return lambda spot: next((said for said in map(proof, (spot, *spot.wider)) if said is not None), None)


Named = Callable[[Arrays, Arrays, Sequence[float]], str]
"""Which function gives a value of another, "" of none that is known."""


def _functions(spot: Spot, named: Named) -> tuple[str, str] | None:
    """The functions of the same value that the left and the right program compute."""
    for x in spot.read:
        if _known_functions.is_told_apart(x) and x[0].size == spot.actual[0].size and is_real(x[0]):
            names = [named(x, y, spot.bounds) for y in (spot.expected, spot.actual)]
            if all(names) and names[0] != names[1]:
                return names[0], names[1]
    return None


def function(wanted: Callable[[str, str], bool], named: Named = _known_functions.activation) -> Proof:
    """That both are functions of every element of one value, wanted ones."""

    def proof(spot: Spot) -> str | None:
        names = _functions(spot, named)
        if names is None or not wanted(*names):
            return None
        return f"{spot.parting.right.program.label} computes {names[1]}, {spot.parting.left.program.label} {names[0]}"

    return wherever(proof)


def is_slope(*names: str) -> bool:
    """Whether two functions are leaky relus, or one of them and relu."""
    leaky = [name.startswith(_known_functions.LEAKY) for name in names]
    return any(leaky) and all(one or name == "relu" for one, name in zip(leaky, names, strict=True))


def power(spot: Spot) -> str | None:
    """That both are powers of one value."""
    for x in spot.read:
        if _known_functions.is_told_apart(x) and x[0].size == spot.actual[0].size and is_real(x[0]):
            exponents = [_known_functions.power(x, y, spot.bounds) for y in (spot.expected, spot.actual)]
            if None not in exponents and exponents[0] != exponents[1]:
                return f"the exponent is {exponents[1]:g} where {spot.parting.left.program.label} has {exponents[0]:g}"
    return None


def division(spot: Spot) -> str | None:
    """That both divide the same two values, rounding otherwise."""
    parts = [part for part in (spot.mine, spot.theirs) if part is not None]
    within = {part.side.program.node(key).opcode for part in parts for key in (*part.nodes, *part.leaves)}
    if not within & {"divide", "remainder"}:
        return None
    alike = [x for x in [*spot.read, *_constants_read(spot)] if x[0].size in (1, spot.actual[0].size)]
    for a in alike:
        for b in (each for each in alike if each is not a and a[0].size == spot.actual[0].size):
            spread = [np.broadcast_to(each.ravel(), a[0].size) if each.size == 1 else each for each in b]
            names = [_known_functions.division(a, spread, y, spot.bounds) for y in (spot.expected, spot.actual)]
            if all(names) and names[0] != names[1]:
                labels = spot.parting.right.program.label, spot.parting.left.program.label
                return f"{labels[0]} computes {names[1]}, {labels[1]} {names[0]}"
    return None


def _constants_read(spot: Spot) -> list[list[np.ndarray]]:
    """Single numbers that either computation reads."""
    found: dict[float, list[np.ndarray]] = {}
    for part in (spot.theirs, spot.mine) if spot.mine else (spot.theirs,):
        for key in part.computing:
            for value in _naming.constants_of(part.side, key):
                found[value] = [np.array([value])] * len(spot.actual)
    return list(found.values())


def running(spot: Spot) -> str | None:
    """That both are running sums of one value."""
    for x in spot.read:
        if x[0].size == spot.actual[0].size and _known_functions.is_told_apart(x):
            found = [_known_functions.cumulative(x, y, spot.bounds) for y in (spot.expected, spot.actual)]
            if found[0] and found[1] and found[0] != found[1]:
                return f"{_sum(found[1])} where {spot.parting.left.program.label} has {_sum(found[0])}"
    return None


def _sum(found: tuple[int, bool, bool]) -> str:
    axis, exclusive, reverse = found
    return f"{'exclusive ' * exclusive}{'reverse ' * reverse}sums along axis {axis}"


def _reductions(spot: Spot) -> tuple[Reduced, Reduced] | None:
    for x in spot.read:
        if _known_functions.is_told_apart(x) and x[0].size > 1:
            found = [_known_functions.reduction(x, y, spot.bounds) for y in (spot.expected, spot.actual)]
            if found[0] and found[1] and found[0] != found[1]:
                return found[0], found[1]
    return None


def reduction(holds: Callable[[Reduced, Reduced], bool]) -> Proof:
    """That both reduce one value, and what has to hold of how."""

    def proof(spot: Spot) -> str | None:
        found = _reductions(spot)
        return "" if found and holds(*found) else None

    return proof


def moved(spot: Spot) -> str | None:
    """That one side has the elements of the other in another order."""
    if spot.expected[0].size != spot.actual[0].size or not _known_functions.is_told_apart(spot.actual):
        return None
    said = _known_functions.moved(spot.expected, spot.actual)
    return f"it is what {spot.parting.left.program.label} has, {said}" if said else None


def is_mean(one: Reduced, other: Reduced) -> bool:
    """Whether one averages what the other adds up."""
    return one[1] == other[1] and {one[0], other[0]} == {"mean", "sum"}


def is_softmax(one: Reduced, other: Reduced) -> bool:
    """Whether both are softmaxes, of unlike axes."""
    return one[0] == other[0] and "softmax" in one[0]


def same_reducer(one: Reduced, other: Reduced) -> bool:
    """Whether one reduces other axes than the other."""
    return one[0] == other[0]


def same_axes(one: Reduced, other: Reduced) -> bool:
    """Whether one reduces the same axes by another function."""
    return one[1] == other[1]
