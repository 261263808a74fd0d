"""Numbers that a program decides by, placed in its inputs: on them, and on either side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from workloads.core.integers import Domain, within
from workloads.core.spec import ArraySpec

_SIMPLE_BITS = 12
"""A number of so few bits is itself in every float type: there a tie is a tie on both sides."""
_ASIDE = 2.0**-8
_LEAST, _MOST = 1e-4, 1e4
"""Beyond, a number is a guard or a fill value, and no edge that inputs are meant to lie on."""
MOST = 48
"""Numbers that are placed, without ties."""


def around_floats(numbers: Iterable[float], spec: ArraySpec, ties: Iterable[float] = ()) -> list[float]:
    """Each number that is one to float types, and what lies a little and a whole one beside it, within the range.

    Args:
      numbers: that a program decides by.
    """
    marks: dict[float, None] = {}
    for number in numbers:
        if _LEAST <= abs(number) <= _MOST:
            step = _ASIDE * abs(number)
            exact = [float(number)] if _is_simple(number) else []
            marks |= dict.fromkeys([*exact, number - step, number + step, number - 1.0, number + 1.0])
    low, high = (-math.inf, math.inf) if spec.low is None or spec.high is None else (spec.low, spec.high)
    simple_ties = [tie for tie in ties if _LEAST <= abs(tie) <= _MOST and _is_simple(tie)]
    # Ties take no place of a number that the program compares with.
    nearby = [mark for mark in marks if low <= mark <= high][:MOST]
    return list(dict.fromkeys([*nearby, *(tie for tie in simple_ties if low <= tie <= high)]))


def around_integers(numbers: Iterable[float], domain: Domain) -> list[int]:
    """Each whole number and its neighbours, as far as they may be drawn."""
    whole = [int(number) for number in numbers if float(number).is_integer()]
    return within((number + aside for number in whole for aside in (0, 1, -1)), domain)[:MOST]


def place_marks(numbers: Sequence[float | int], spec: ArraySpec, turn: int, case: int) -> np.ndarray:
    """An array of a case: the numbers from where the case before stopped, in another order for each input.

    Args:
      spec: shape and dtype of the array.
      turn: which input it is: 0 keeps the order.
      case: not negative.
    """
    size = math.prod(spec.shape)
    order = np.random.default_rng(turn).permutation(len(numbers)) if turn else np.arange(len(numbers))
    in_order = np.asarray(numbers)[order]
    flat = np.resize(np.roll(in_order, -(case * size) % len(numbers)), size)
    return flat.reshape(spec.shape).astype(spec.dtype)


def _is_simple(number: float) -> bool:
    mantissa, _ = math.frexp(number)
    return (mantissa * 2**_SIMPLE_BITS).is_integer()
