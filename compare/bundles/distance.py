"""Distances of results of one program: absolute, relative, and in units in the last place; NaN is separate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from compare.parity import measure

LARGEST_TOLERANCE = 0.1
ROUNDOFFS = 2.0**14


@dataclass(frozen=True)
class Difference:
    """One result of one compiler against the reference.

    Attributes:
      absolute: the largest difference of two elements that are finite on both sides.
      relative: that over the largest magnitude of the reference.
      ulp: the largest number of representable values between two such elements; None where they have no order.
      alike: whether shapes and dtypes are the same, and NaN and infinities stand in the same places.
      tolerance: what `relative` may be.
    """

    absolute: float
    relative: float
    ulp: int | None
    alike: bool
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether both can be results of one program."""
        return self.alike and self.relative <= self.tolerance


def tolerance_of(dtype: np.dtype) -> float:
    """2**14 unit roundoffs, at most 0.1: 1e-3 of float32, 2e-12 of float64; 0 of integers and booleans.

    Far beyond what another order of operations explains in a program of ordinary depth, far below what
    another program computes.
    """
    return min(LARGEST_TOLERANCE, ROUNDOFFS * measure.UNIT_ROUNDOFF.get(dtype.name, 0.0))


def difference(actual: np.ndarray, expected: np.ndarray, tolerance: float | None = None) -> Difference:
    """How far one result is from another of the same shape.

    Args:
      actual: an array of any shape and dtype.
      expected: the reference, of the same shape and dtype where both agree.
      tolerance: the largest error of floats, relative to the largest value; None takes that of the dtype.
    """
    is_float = measure.is_float(expected)
    bound = tolerance_of(expected.dtype) if tolerance is None or not is_float else tolerance
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return Difference(math.inf, math.inf, None, False, bound)
    if not is_float:
        absolute = measure.exact_distance(actual, expected, 1.0).error
        scale = measure.scale_of(expected, 0.0)
        return Difference(absolute, absolute / scale, None, True, bound)
    finite = (measure.pattern(actual) == 0) & (measure.pattern(expected) == 0)
    absolute = measure.distance(actual, expected, 1.0, mask=~finite).error
    alike = not measure.unlike(actual, expected).any()
    relative = absolute / measure.scale_of(expected, 0.0)
    return Difference(absolute, relative, _ulp(actual[finite], expected[finite]), alike, bound)


def _ulp(actual: np.ndarray, expected: np.ndarray) -> int | None:
    if expected.dtype.kind == "c":
        return None
    if expected.size == 0:
        return 0
    first, second = (_to_ordered_integers(array).astype(object) for array in (actual, expected))
    return int(np.max(np.abs(first - second)))


def _to_ordered_integers(array: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the floats, neighbours one apart, both zeros 0."""
    bits = array.dtype.itemsize * 8
    raw = np.ascontiguousarray(array).view(f"int{bits}").astype(np.int64)
    return np.where(raw < 0, np.iinfo(f"int{bits}").min - raw, raw)
