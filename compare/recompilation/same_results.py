"""Whether a cure left the results of each call as they were. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compare.recompilation.cures import Comparison
from workloads.core.spec import Arrays

TOLERANCE = 1e-5
"""Relative to the largest value of a result: sums of other lengths round differently in float32."""


def unlike(before: Sequence[Arrays], after: Sequence[Arrays], how: Comparison) -> str:
    """Where results differ, in one sentence; empty where none does.

    Args:
      before: by call, its results as they were, each [...] of any shape and dtype.
      after: by call, those with the cure; of the shapes before, or larger ones.
      how: whether more than the shape before is looked at.
    """
    pairs = enumerate(zip(before, after, strict=True), start=1)
    differences = [(number, text) for number, (one, other) in pairs if (text := call_unlike(one, other, how))]
    return f"call {differences[0][0]}: {differences[0][1]}" if differences else ""


def call_unlike(before: Arrays, after: Arrays, how: Comparison) -> str:
    """Where the results of one call differ, in one sentence; empty where none does.

    Args:
      before: as they were, each [...] of any shape and dtype.
      after: the results that are compared with them, of the same shapes or larger ones.
      how: whether more than the shape before is looked at.
    """
    if before.keys() != after.keys():
        return f"{len(before)} results before, {len(after)} after"
    return next(filter(None, (_one_unlike(name, before[name], after[name], how) for name in before)), "")


def _one_unlike(name: str, before: np.ndarray, after: np.ndarray, how: Comparison) -> str:
    if before.dtype != after.dtype:
        return f"result {name} is {after.dtype}, was {before.dtype}"
    larger = before.ndim == after.ndim and all(n <= m for n, m in zip(before.shape, after.shape, strict=True))
    if before.shape != after.shape and not (larger and how == "within"):
        return f"result {name} is of shape {list(after.shape)}, was {list(before.shape)}"
    trimmed_array = after[tuple(slice(n) for n in before.shape)]
    if before.dtype.kind not in "fcV":
        differing = int(np.count_nonzero(before != trimmed_array))
        return f"result {name} differs in {differing} of {before.size} elements" if differing else ""
    return _off(name, _wide(before), _wide(trimmed_array))


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _off(name: str, before: np.ndarray, after: np.ndarray) -> str:
    both = np.isfinite(before) & np.isfinite(after)
    if not np.array_equal(before[~both], after[~both], equal_nan=True):
        return f"result {name} is infinite or NaN elsewhere"
    largest = float(np.max(np.abs(before[both]), initial=0.0))
    error = float(np.max(np.abs(before[both] - after[both]), initial=0.0))
    return (
        f"result {name} is off by {error / largest if largest else error:.2g} of its largest value"
        if error > TOLERANCE * largest
        else ""
    )


def results_of(results: Mapping[int, Arrays], numbers: Sequence[int]) -> list[Arrays]:
    """The results of these calls, in order."""
    return [results[number] for number in numbers]
