"""Proofs by what both values are: known functions of the same value, of which one is TensorFlow's.

A proof returns what more there is to say ("" of nothing), or None where it is not made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from compare.hlo.locate import _known_functions, _naming
from compare.hlo.locate._excerpt import Arrays
from compare.hlo.locate._known_functions import RELU, SOFTMAXES, Function, Reduction
from compare.hlo.locate._measured import is_real
from compare.hlo.locate._spot import Spot
from compare.hlo.pair import Pair

T = TypeVar("T")
Proof = Callable[[Spot], str | None]


def wherever(proof: Proof) -> Proof:
    """The proof for the value or for values a few operations on: a function may end there."""
    return lambda spot: next((answer for answer in map(proof, (spot, *spot.wider)) if answer is not None), None)


Named = Callable[[Arrays, Arrays, Sequence[float]], Function | None]
"""Finds the function that maps one value to another."""


def _both(spot: Spot, describe: Callable[[Arrays, Arrays, Sequence[float]], T | None], read: Arrays) -> Pair[T] | None:
    """How the left and the right value each follow from what both read; None where they follow alike, or not at all.

    Args:
      describe: what there is to say of a value (the second arrays) by what is read (the first), within bounds.
    """
    left, right = describe(read, spot.expected, spot.bounds), describe(read, spot.actual, spot.bounds)
    return None if left is None or right is None or left == right else Pair(left, right)


def _read_whole(spot: Spot) -> Iterator[Arrays]:
    """Values of as many elements that are read, on which different functions give different results."""
    actual, *_ = spot.actual
    for read in spot.read:
        if _known_functions.is_told_apart(read) and read[0].size == actual.size:
            yield read


def _functions(spot: Spot, recognise: Named) -> Pair[Function] | None:
    """The functions of the same value that the left and the right program compute."""
    fitting = (_both(spot, recognise, read) for read in _read_whole(spot) if is_real(read[0]))
    return next(filter(None, fitting), None)


def function(accepts: Callable[[Function, Function], bool], recognise: Named = _known_functions.activation) -> Proof:
    """Proof that both are elementwise functions of one value, and that `accepts` holds for them."""

    def proof(spot: Spot) -> str | None:
        functions = _functions(spot, recognise)
        if functions is None or not accepts(functions.left, functions.right):
            return None
        return _computes(spot, functions)

    return wherever(proof)


def _computes(spot: Spot, names: Pair[Function] | Pair[str]) -> str:
    left, right = spot.parting.left.program.label, spot.parting.right.program.label
    return f"{right} computes {names.right}, {left} {names.left}"


def is_slope(one: Function, other: Function) -> bool:
    """Whether two functions are leaky relus, or one of them and relu."""
    leaky = [function.slope is not None for function in (one, other)]
    return any(leaky) and all(function.slope is not None or function.name == RELU for function in (one, other))


def is_gelu(one: Function, other: Function) -> bool:
    """Whether two functions are forms of gelu."""
    return {one.name, other.name} <= set(_known_functions.GELUS)


def power(spot: Spot) -> str | None:
    """Proof that both are powers of one value."""
    fitting = (_both(spot, _known_functions.power, read) for read in _read_whole(spot) if is_real(read[0]))
    exponents = next(filter(None, fitting), None)
    if exponents is None:
        return None
    return f"the exponent is {exponents.right:g} where {spot.parting.left.program.label} has {exponents.left:g}"


def division(spot: Spot) -> str | None:
    """Proof that both divide the same two values, with another rounding."""
    parts = [part for part in (spot.mine, spot.theirs) if part is not None]
    within = {part.side.program.node(key).opcode for part in parts for key in (*part.nodes, *part.leaves)}
    if not within & {"divide", "remainder"}:
        return None
    actual, *_ = spot.actual
    read = [arrays for arrays in (*spot.read, *_constants_read(spot)) if arrays[0].size in (1, actual.size)]
    for dividend in (arrays for arrays in read if arrays[0].size == actual.size):
        for divisor in (arrays for arrays in read if arrays is not dividend):
            spread = [np.broadcast_to(case.ravel(), actual.size) if case.size == 1 else case for case in divisor]
            names = _both(spot, _division_by(spread), dividend)
            if names is not None:
                return _computes(spot, names)
    return None


def _division_by(divisor: Arrays) -> Callable[[Arrays, Arrays, Sequence[float]], str | None]:
    return lambda read, value, bounds: _known_functions.division(read, divisor, value, bounds) or None


def _constants_read(spot: Spot) -> list[list[np.ndarray]]:
    """Single numbers that either computation reads."""
    constants: dict[float, list[np.ndarray]] = {}
    for part in (spot.theirs, spot.mine) if spot.mine else (spot.theirs,):
        for key in part.computing:
            for value in _naming.constants_of(part.side, key):
                constants[value] = [np.array([value])] * len(spot.actual)
    return list(constants.values())


def running(spot: Spot) -> str | None:
    """Proof that both are cumulative sums of one value."""
    fitting = (_both(spot, _known_functions.cumulative, read) for read in _read_whole(spot))
    sums = next(filter(None, fitting), None)
    return f"{sums.right} where {spot.parting.left.program.label} has {sums.left}" if sums else None


def _reductions(spot: Spot) -> Pair[Reduction] | None:
    reads = (read for read in spot.read if _known_functions.is_told_apart(read) and read[0].size > 1)
    return next(filter(None, (_both(spot, _known_functions.reduction, read) for read in reads)), None)


def reduction(holds: Callable[[Reduction, Reduction], bool]) -> Proof:
    """Proof that both reduce one value, and that `holds` is true of the reductions."""

    def proof(spot: Spot) -> str | None:
        reductions = _reductions(spot)
        return "" if reductions and holds(reductions.left, reductions.right) else None

    return proof


def explain_order(spot: Spot) -> str | None:
    """Proof that one side has the elements of the other in another order."""
    if spot.expected[0].size != spot.actual[0].size or not _known_functions.is_told_apart(spot.actual):
        return None
    description = _known_functions.describe_order(spot.expected, spot.actual)
    return f"it is what {spot.parting.left.program.label} has, {description}" if description else None


def is_mean(one: Reduction, other: Reduction) -> bool:
    """Whether one averages what the other adds up."""
    return one.axes == other.axes and {one.reducer, other.reducer} == {"mean", "sum"}


def is_softmax(one: Reduction, other: Reduction) -> bool:
    """Whether both are softmaxes, of unlike axes."""
    return one.reducer == other.reducer and one.reducer in SOFTMAXES


def same_reducer(one: Reduction, other: Reduction) -> bool:
    """Whether one reduces other axes than the other."""
    return one.reducer == other.reducer


def same_axes(one: Reduction, other: Reduction) -> bool:
    """Whether one reduces the same axes by another function."""
    return one.axes == other.axes
