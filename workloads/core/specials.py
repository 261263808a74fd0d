"""Special values of float types among ordinary inputs: NaN, infinities, the largest and least numbers, both zeros."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from workloads.core.spec import Arrays, ArraySpec

NAN, MIXED = "nan", "mixed"
_PART = 0.25
"""The share of special elements: a sum or a mean of the others remains."""
_ALL = -1
"""The pattern in which every element is special: nothing is left."""
_MOST_AXES = 3
"""Along the last axes, a whole slice of an array is special once: a row, a column, an image."""


@dataclass(frozen=True)
class Special:
    """A case with special values.

    Attributes:
      kind: which values, as one word: "nan", "infinity".
      inputs: the inputs that hold them.
      arrays: all inputs, by name.
    """

    kind: str
    inputs: tuple[str, ...]
    arrays: Arrays


def special_cases(specs: Mapping[str, ArraySpec], base: Arrays) -> Iterator[Special]:
    """Cases in which some elements are special; those that matter most come first.

    Args:
      specs: every input of the call.
      base: the inputs as they are otherwise, in the shapes and dtypes of the specs.
    """
    floats = [name for name, spec in specs.items() if spec.is_float and np.dtype(spec.dtype).kind != "c"]
    groups = [*((name,) for name in floats), *([tuple(floats)] if len(floats) > 1 else [])]
    for kind in _KINDS:
        for group in groups:
            values_by_name = {name: _within(_KINDS[kind](specs[name].dtype), specs[name]) for name in group}
            if not all(values_by_name.values()):
                continue
            for pattern in _patterns(kind, specs, group):
                arrays = {
                    name: _place(base[name], values_by_name[name], pattern, group.index(name))
                    if name in values_by_name
                    else array
                    for name, array in base.items()
                }
                yield Special(kind, group, arrays)


def _patterns(kind: str, specs: Mapping[str, ArraySpec], group: Sequence[str]) -> Sequence[int]:
    """The patterns a kind is placed in: NaN alone fills slices as well, and the whole."""
    if kind != NAN:
        return (0,)
    axes = max(len(specs[name].shape) for name in group)
    return (*range(1 + (min(axes, _MOST_AXES) if axes > 1 else 0)), _ALL)


def _place(array: np.ndarray, numbers: Sequence[float], pattern: int, turn: int) -> np.ndarray:
    """The array with numbers in some elements.

    Args:
      pattern: 0 for single elements; 1 fills the first slice along the last axis as well and leaves the last slice
        as it was, 2 along the axis before, and so on; _ALL fills the array.
      turn: moves the single elements, so that two inputs have some in common and some not.
    """
    mask = np.random.default_rng(turn).random(array.shape) < (1 if pattern == _ALL else _PART)
    mask.reshape(-1)[:1] = True
    if 0 < pattern <= array.ndim:
        along = np.moveaxis(mask, -pattern, 0)
        along[0] = True
        if len(along) > 1:
            along[-1] = False
    result = np.array(array)
    result[mask] = np.resize(np.asarray(numbers, np.float64), int(mask.sum())).astype(array.dtype)
    return result


def _within(numbers: Sequence[float], spec: ArraySpec) -> list[float]:
    """The numbers that a declared range has."""
    if spec.low is None or spec.high is None:
        return list(numbers)
    return [number for number in numbers if spec.low <= number <= spec.high]


def _largest(dtype: str) -> list[float]:
    return [sign * float(ml_dtypes.finfo(np.dtype(dtype)).max) for sign in (1, -1)]


def _least(dtype: str) -> list[float]:
    return [sign * float(ml_dtypes.finfo(np.dtype(dtype)).smallest_subnormal) for sign in (1, -1)]


_KINDS = {
    NAN: lambda _: [math.nan],
    "infinity": lambda _: [math.inf],
    "minus_infinity": lambda _: [-math.inf],
    "infinities": lambda _: [math.inf, -math.inf],
    "largest": _largest,
    "zeros": lambda _: [0.0, -0.0],
    "subnormal": _least,
    MIXED: lambda _: [math.nan, math.inf, -math.inf],
}
