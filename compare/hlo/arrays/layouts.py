"""How the elements of one array are arranged in another, and how far the two are apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import ml_dtypes
import numpy as np

from compare.hlo.arrays.fingerprints import CHUNK, is_float, tolerance_of

_MOST_DIMENSIONS = 5
_PROBES = 64


@dataclass(frozen=True)
class Layout:
    """How the elements of one array are arranged in another: the left transposed, or the right, then reshaped."""

    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    reshaped: bool = False

    def __str__(self) -> str:
        parts = [f"transposed by {self.left}"] if self.left else []
        parts += [f"right transposed by {self.right}"] if self.right else []
        return ", ".join(parts + (["reshaped"] if self.reshaped else []))

    def views(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both arrays, their elements in one order."""
        return (
            left.transpose(self.left) if self.left else left,
            right.transpose(self.right) if self.right else right,
        )


class Equal(NamedTuple):
    """How two values are equal in every case, and how many units in the last place they are apart at most."""

    layout: Layout
    ulp: float


def layouts(left: tuple[int, ...], right: tuple[int, ...]) -> Iterator[Layout]:
    """Arrangements by which arrays of two shapes could be equal, the plainest first."""
    bare, other = _bare(left), _bare(right)
    yield Layout(reshaped=bare != other)
    fits = sorted(bare) == sorted(other)
    for order in _orders(left):
        shape = tuple(left[axis] for axis in order)
        if not fits or _bare(shape) == other:
            yield Layout(left=order, reshaped=not fits)
    if not fits:
        yield from (Layout(right=order, reshaped=True) for order in _orders(right))


def _bare(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _orders(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Orders of the dimensions that move elements; those of size 1 stay where they are."""
    wide = [axis for axis, size in enumerate(shape) if size != 1]
    if len(wide) > _MOST_DIMENSIONS:
        return
    for order in permutations(wide):
        if list(order) != wide:
            following = iter(order)
            yield tuple(axis if shape[axis] == 1 else next(following) for axis in range(len(shape)))


def laid_out(cases: Sequence[tuple[np.ndarray, np.ndarray]], scales: Sequence[float], tolerance: float) -> Equal | None:
    """The first arrangement by which two values are equal in every case, within the tolerance of their type.

    Args:
      cases: the two values of each case, of one number of elements and any shapes.
      scales: of both, in each case, as their fingerprints have them.
      tolerance: float32's, relative to the scale.

    Returns:
      None where no arrangement makes them equal.
    """
    (left, right), *_ = cases
    for layout in layouts(left.shape, right.shape):
        arguments = [(*arrays, layout, scale, tolerance) for arrays, scale in zip(cases, scales, strict=True)]
        if all(_probe(*case) for case in arguments):
            gaps = [distance(*case) for case in arguments]
            if None not in gaps:
                return Equal(layout, max(gap for gap in gaps if gap is not None))
    return None


def _probe(left: np.ndarray, right: np.ndarray, layout: Layout, scale: float, tolerance: float) -> bool:
    """Whether some elements agree: most arrangements are wrong, and large arrays take time."""
    if left.size <= _PROBES:
        return True
    places = np.linspace(0, left.size - 1, _PROBES).astype(np.int64)
    one, other = (view[np.unravel_index(places, view.shape)] for view in layout.views(left, right))
    return _gap(one, other, scale, tolerance) is not None


def distance(left: np.ndarray, right: np.ndarray, layout: Layout, scale: float, tolerance: float) -> float | None:
    """How far two arrays are apart, in units in the last place; None where that is more than the tolerance.

    The unit is that of the larger of an element and its value's scale: what rounding leaves of a sum that
    cancels is judged by what it was made of.

    Args:
      left: an array of any shape.
      layout: by which their elements correspond.
      scale: of both, as their fingerprints have it.
      tolerance: float32's, relative to the scale.
    """
    one, other = layout.views(left, right)
    return _gap(one.ravel(), other.ravel(), scale, tolerance)


def _gap(left: np.ndarray, right: np.ndarray, scale: float, tolerance: float) -> float | None:
    if not is_float(left.dtype):
        return 0.0 if np.array_equal(left, right) else None
    parts = (slice(start, start + CHUNK) for start in range(0, left.size, CHUNK))
    gaps = [0.0]
    for part in parts:
        gap = _gap_of_part(left[part], right[part], scale, tolerance_of(left.dtype, tolerance))
        if gap is None:
            return None
        gaps.append(gap)
    return max(gaps) / float(ml_dtypes.finfo(left.dtype).eps)


def _gap_of_part(left: np.ndarray, right: np.ndarray, scale: float, within: float) -> float | None:
    """The largest distance over the power of two below each size; None beyond `within` of one."""
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    one, other = left.astype(wide), right.astype(wide)
    ordinary = np.isfinite(one) & np.isfinite(other)
    if not ordinary.all():
        if not np.array_equal(one[~ordinary], other[~ordinary], equal_nan=True):
            return None
        one, other = one[ordinary], other[ordinary]
    sizes = np.maximum(np.abs(one), scale)
    gaps = np.abs(one - other)
    # Of large complex numbers the magnitude overflows.
    if not np.all(np.isfinite(sizes)) or np.any(gaps > within * sizes):
        return None
    return float(np.max(np.ldexp(gaps, 1 - np.frexp(sizes)[1]), initial=0.0))
