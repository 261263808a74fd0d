"""The one measure of error: largest difference over largest value, with NaN and infinities kept apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

UNIT_ROUNDOFF: Mapping[str, float] = {
    "float8_e5m2": 2.0**-3,
    "float8_e4m3fn": 2.0**-4,
    "bfloat16": 2.0**-8,
    "float16": 2.0**-11,
    "float32": 2.0**-24,
    "float64": 2.0**-53,
    "complex64": 2.0**-24,
    "complex128": 2.0**-53,
}
"""By dtype name, because NumPy has not all of them. Higham, Accuracy and Stability, 2nd ed., section 2.1."""

WIDE = ("float64", "complex128")

SEMANTICS_BOUND = 1e-12
"""Honest twins of a whole network differ by 4.7e-16 in float64, an epsilon off by 1e-5 relative by 3.2e-10."""


@dataclass(frozen=True)
class Distance:
    """How far an array is from another, and the element where it is farthest (None in an empty array)."""

    error: float
    index: tuple[int, ...] = ()
    found: Any = None
    expected: Any = None


def is_float(array: np.ndarray) -> bool:
    """Whether values are rounded; everything else (integers, booleans) is exact."""
    return array.dtype.name in UNIT_ROUNDOFF


def wide(array: np.ndarray) -> np.ndarray:
    """The values in float64 or complex128."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)


def pattern(array: np.ndarray) -> np.ndarray:
    """0 where finite; otherwise a code that tells NaN, +inf and -inf apart, in real and imaginary part."""
    values = wide(array)
    if np.isfinite(values).all():
        # Nearly every array is: the codes of millions of elements took longer than everything else of a verdict.
        return np.zeros(values.shape, np.int8)

    def codes(part: np.ndarray) -> np.ndarray:
        return (np.isnan(part) + 2 * np.isposinf(part) + 3 * np.isneginf(part)).astype(np.int8)

    return codes(np.real(values)) + 4 * codes(np.imag(values)) if np.iscomplexobj(values) else codes(values)


def unlike(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where arrays of one shape differ exactly: in value for exact dtypes, in NaN and infinities for floats."""
    if is_float(expected):
        return np.asarray(pattern(actual) != pattern(expected))
    return np.asarray(actual != expected)


def largest(arrays: Iterable[np.ndarray]) -> float:
    """The largest finite magnitude, 0 where there is none."""
    return max((_largest(array) for array in arrays), default=0.0)


def _largest(array: np.ndarray) -> float:
    values = np.abs(wide(array))
    most = float(np.max(values, initial=0.0))
    return most if math.isfinite(most) else float(np.max(values, where=np.isfinite(values), initial=0.0))


def scale_of(expected: np.ndarray, model_scale: float) -> float:
    """The scale of an error: the leaf's largest value; if that is 0, the pass's; else 1."""
    return largest([expected]) or model_scale or 1.0


def distance(actual: np.ndarray, expected: np.ndarray, scale: float, mask: np.ndarray | None = None) -> Distance:
    """max|actual - expected| / scale, over arrays of one shape.

    NaN and infinities count nothing where both arrays have them alike, and infinitely where not.

    Args:
      actual: x[...], numbers of any dtype.
      expected: x[...], of the same shape.
      scale: what the difference is divided by.
      mask: bool[...], the elements that count nothing; None ignores none.
    """
    if expected.size == 0:
        return Distance(0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(wide(actual) - wide(expected))
    if not np.isfinite(gap).all():
        actual_pattern, expected_pattern = pattern(actual), pattern(expected)
        gap = np.where(actual_pattern == expected_pattern, np.where(actual_pattern == 0, gap, 0.0), np.inf)
    if mask is not None:
        gap = np.where(mask, 0.0, gap)
    return distance_at(actual, expected, int(np.argmax(gap)), float(np.max(gap)) / scale)


def exact_distance(actual: np.ndarray, expected: np.ndarray, scale: float) -> Distance:
    """The largest difference of integers over `scale`, without rounding; infinite where patterns of floats differ.

    Args:
      actual: x[...], integers or bits of floats.
      expected: x[...], of the same shape.
      scale: what the difference is divided by.
    """
    differing = np.flatnonzero(unlike(actual, expected))
    if differing.size == 0:
        return Distance(0.0)
    if is_float(expected):
        return distance_at(actual, expected, int(differing[0]), float("inf"))
    gaps = [abs(int(actual.flat[i]) - int(expected.flat[i])) for i in differing]
    worst = int(np.argmax(np.asarray(gaps, dtype=np.float64)))
    return distance_at(actual, expected, int(differing[worst]), gaps[worst] / scale)


def distance_at(actual: np.ndarray, expected: np.ndarray, position: int, error: float) -> Distance:
    """The error with the element at a flat position.

    Args:
      actual: x[...]
      expected: x[...], of the same shape.
      position: the index into the flattened arrays.
    """
    index = tuple(int(i) for i in np.unravel_index(position, expected.shape))
    return Distance(error, index, actual[index], expected[index])
