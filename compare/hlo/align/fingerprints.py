"""Fingerprints of arrays: equal values have equal ones, whatever order their elements are in."""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from compare.hlo.align._memo import Memo

TOLERANCE = 1e-5
"""For float32, relative to a value's scale; other types scale with their unit roundoff. Some 80 units in the last
place: what sums of some thousand terms in another order come to, and less than a wrong epsilon makes."""

_LEAST_PRECISE = 0.02
_SAMPLE = 4096

_REMEMBERED = 1 << 16
"""Fingerprints, of half a KiB each: what all levels of a model of ten thousand values have."""


@dataclass(frozen=True)
class Fingerprint:
    """What stays of an array when its elements change places, and its floats change in their last bits.

    Attributes:
      kind: dtypes whose values can be equal: integers of all widths are one.
      exact: what integers add up to, hashed; 0 of floats.
      special: how many elements are NaN, +inf and -inf.
      scale: the largest finite magnitude, values aside that fill whole parts of the array: a mask's -1e9
        must not set the scale of the logits beside it.
      spread: mean, mean magnitude and root mean square, over the scale.
      bits: roughly how much chance it would take to meet this array twice; 0 of one that is all alike.
      content: digest of the very bytes and their shape.
    """

    elements: int
    kind: str
    exact: int
    special: tuple[int, int, int]
    scale: float
    spread: tuple[float, float, float]
    bits: float
    content: bytes


_MEMO: Memo[Fingerprint] = Memo(_REMEMBERED)


def tolerance_of(dtype: np.dtype, tolerance: float) -> float:
    """The tolerance of float32 made one of another type: 0 of exact types, at most 2 % of narrow ones."""
    if not is_float(dtype):
        return 0.0
    ratio = float(ml_dtypes.finfo(dtype).eps) / float(np.finfo(np.float32).eps)
    return min(tolerance * ratio, max(tolerance, _LEAST_PRECISE))


def fingerprint(array: np.ndarray, tolerance: float) -> Fingerprint:
    """The fingerprint of one array; `tolerance` is float32's."""
    content = hashlib.blake2b(f"{array.dtype} {array.shape}".encode(), digest_size=16)
    content.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    digest = content.digest()
    return _MEMO.get((digest, tolerance), lambda: _computed(array, digest, tolerance))


def _computed(array: np.ndarray, content: bytes, tolerance: float) -> Fingerprint:
    flat = array.ravel()
    if not is_float(array.dtype):
        kind = "pred" if array.dtype == np.bool_ else "integer"
        nothing = (0, 0, 0), 0.0, (0.0, 0.0, 0.0)
        return Fingerprint(flat.size, kind, _hashed(flat), *nothing, _entropy(_sampled(flat)), content)
    within = tolerance_of(array.dtype, tolerance)
    values = _magnitudes(flat)
    finite = values[np.isfinite(values)]
    scale = _scale(finite)
    spread = _spread(finite, scale)
    return Fingerprint(
        flat.size, array.dtype.name, 0, _special(values), scale, spread, _bits(finite, scale, within), content
    )  # fmt: skip


def is_float(dtype: np.dtype) -> bool:
    """Whether values of a type are rounded."""
    return "float" in dtype.name or dtype.kind == "c"


def _magnitudes(flat: np.ndarray) -> np.ndarray:
    """Floats as float64; of complex numbers, which have no order, the magnitude."""
    return np.abs(flat).astype(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def _special(values: np.ndarray) -> tuple[int, int, int]:
    return int(np.isnan(values).sum()), int(np.isposinf(values).sum()), int(np.isneginf(values).sum())


def _hashed(flat: np.ndarray) -> int:
    """A sum over hashed elements, so that it does not depend on their order."""
    mixed = flat.astype(np.int64).astype(np.uint64)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0x7FB5D329728EA185)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x81DADEF4BC2DD44D)
    return int(np.add.reduce(mixed ^ (mixed >> np.uint64(33)), dtype=np.uint64))


def _sampled(flat: np.ndarray) -> np.ndarray:
    """At most some thousand elements, at the same random places of every array of this size."""
    if flat.size <= _SAMPLE:
        return flat
    return flat[_places(flat.size)]


@functools.lru_cache(maxsize=64)
def _places(size: int) -> np.ndarray:
    return np.random.default_rng(0).integers(size, size=_SAMPLE)


def _scale(finite: np.ndarray) -> float:
    if not finite.size:
        return 0.0
    values, counts = np.unique(_sampled(finite), return_counts=True)
    filling = values[counts >= max(2, counts.sum() // 64)]
    rest = np.ones(finite.shape, np.bool_)
    for value in filling:
        rest &= finite != value
    return float(np.max(np.abs(finite), where=rest, initial=0.0)) or float(np.max(np.abs(finite)))


def _spread(finite: np.ndarray, scale: float) -> tuple[float, float, float]:
    if not finite.size or not scale:
        return 0.0, 0.0, 0.0
    # Values that fill whole parts may be far larger than the scale: they count as that.
    over = np.clip(finite / scale, -1, 1)
    return float(over.mean()), float(np.abs(over).mean()), float(np.sqrt(np.square(over).mean()))


def _entropy(sample: np.ndarray) -> float:
    """Bits of an array of these values in random order."""
    if sample.size < 2:
        return 0.0
    shares = np.unique(sample, return_counts=True)[1] / sample.size
    return float(-(shares * np.log2(shares)).sum() * sample.size)


def _bits(finite: np.ndarray, scale: float, within: float) -> float:
    """Each number that is not a whole one tells as much as its type is precise; whole ones, only where they stand."""
    if not scale or is_progression(finite):
        return 0.0
    sample = _sampled(finite)
    telling = sample[np.abs(sample - np.round(sample)) > within * np.maximum(1.0, np.abs(sample))]
    distinct = np.unique(np.round(telling / (within * scale))).size
    return _entropy(np.round(sample / (within * scale))) + distinct * math.log2(1 / within)


def is_progression(flat: np.ndarray) -> bool:
    """Whether an array counts up or down in equal steps, as an iota does, or stands still."""
    if flat.size < 3:
        return flat.size == 2 and bool(flat[0] == flat[1])
    steps = np.diff(flat[: min(flat.size, _SAMPLE)].astype(np.float64))
    return bool(np.all(np.abs(steps - steps[0]) <= 1e-6 * np.abs(steps[0])))


def could_be_equal(left: Fingerprint, right: Fingerprint, within: float) -> bool:
    """Whether two fingerprints allow their arrays to be one value.

    Args:
      left: of one array.
      right: of the other.
      within: the tolerance of their dtype, relative to the scale.
    """
    if (left.elements, left.kind, left.exact, left.special) != (right.elements, right.kind, right.exact, right.special):
        return False
    if abs(left.scale - right.scale) > 2 * within * max(left.scale, right.scale):
        return False
    return all(abs(one - other) <= 4 * within for one, other in zip(left.spread, right.spread, strict=True))
