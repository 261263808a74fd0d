"""Chooses the scale of a leaf's errors: its largest value, unless a fill value would hide the others."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.parity.measure import SEMANTICS_BOUND, UNIT_ROUNDOFF, is_float, scale_of, wide

GAP = 1 / UNIT_ROUNDOFF["float32"]
"""Between neighbouring magnitudes: a value added to one so much larger leaves no trace in float32. What is computed
from continuous inputs leaves no such gap, save between values and the rounding noise of larger ones."""

GAP_POWERS = 24
"""How far apart the powers of two of two values are at least whose ratio is GAP."""

NOISE = SEMANTICS_BOUND / UNIT_ROUNDOFF["float64"] * UNIT_ROUNDOFF["float32"]
"""A group that the original computes no better than this, relative to its largest value, is what rounding left of
larger values: in float64 too, as many roundings would exceed the bound."""


@dataclass(frozen=True)
class Band:
    """Elements of one order of magnitude. `scale` is what their errors are relative to, `others` masks the rest."""

    scale: float
    others: np.ndarray | None = None


@dataclass(frozen=True)
class Scales:
    """The scales of the errors of one run: the bands of each leaf; `model` is the largest value of all."""

    model: float
    bands: Mapping[str, list[Band]]


def bands_of(expected: np.ndarray, originals: Sequence[np.ndarray], model_scale: float) -> list[Band]:
    """One band, or one for each group of magnitudes where a mask's fill value stands beside values.

    Errors beside -1e9, or the lowest value of a type, would vanish were they divided by it.

    Args:
      expected: the float64 values of the original.
      model_scale: the largest value of the pass, for a leaf of zeros.
    """
    sizes = np.abs(wide(expected))
    finite = np.isfinite(sizes)
    largest, smallest = _largest(sizes, finite), float(np.min(sizes, where=finite & (sizes > 0), initial=np.inf))
    spares_zeros = largest == smallest >= GAP and bool((sizes == 0).any())
    if not spares_zeros and largest < GAP * smallest:
        return [Band(scale_of(expected, model_scale))]
    groups = _groups(expected, sizes, originals)
    scales = [_largest(sizes, within) for within in groups]
    if len(groups) == 1 and not spares_zeros:
        return [Band(scales[0])]
    zeros = sizes == 0
    noise = _error(zeros, expected, originals)
    if noise == 0 and spares_zeros:
        # Nothing but a fill value and what it spares: zeros are exact, or wrong by something that counts.
        groups, scales = [*groups, zeros], [*scales, 1.0]
    else:
        home = max((rank for rank, scale in enumerate(scales) if noise <= NOISE * scale), default=0)
        groups[home] = groups[home] | zeros
    # NaN and infinities are compared with NaN and infinities, whatever the scale: any band will do.
    groups[-1] = groups[-1] | ~finite
    return [Band(scale, ~within) for scale, within in zip(scales, groups, strict=True)]


def _groups(expected: np.ndarray, sizes: np.ndarray, originals: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Masks of the elements between two gaps, the largest first; noise of larger values is among those."""
    groups: list[np.ndarray] = []
    upper = np.inf
    for lower in _lowest_of_groups(sizes[np.isfinite(sizes) & (sizes > 0)]):
        within = (sizes >= lower) & (sizes < upper)
        if groups and _error(within, expected, originals) > NOISE * _largest(sizes, within):
            groups[-1] = groups[-1] | within
        else:
            groups.append(within)
        upper = lower
    return groups


def _lowest_of_groups(sizes: np.ndarray) -> list[float]:
    """The smallest of the values above each gap, the largest first, and the smallest of all.

    Neighbours across a gap have powers of two that are apart by as much: sorting all values took minutes of a verdict.
    """
    powers = np.frexp(sizes)[1]
    least = int(np.min(powers))
    lowest = [float(np.min(sizes))]
    for below, above in itertools.pairwise(np.flatnonzero(np.bincount(powers - least)) + least):
        if above - below < GAP_POWERS:
            continue
        upper = float(np.min(sizes, where=powers >= above, initial=np.inf))
        with np.errstate(over="ignore"):
            if upper / np.max(sizes, where=powers <= below, initial=0.0) >= GAP:
                lowest.append(upper)
    return lowest[::-1]


def _largest(sizes: np.ndarray, within: np.ndarray) -> float:
    return float(np.max(sizes, where=within, initial=0.0))


def _error(within: np.ndarray, expected: np.ndarray, originals: Sequence[np.ndarray]) -> float:
    """The largest error of some elements by the mode of the original that has the smallest; infinite without any."""
    runs = (wide(original) for original in originals if is_float(original) and original.shape == expected.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = (float(np.max(np.abs(original - wide(expected))[within], initial=0.0)) for original in runs)
        return min((error for error in errors if not np.isnan(error)), default=np.inf)
