"""Fingerprints of arrays: equal values have equal ones, whatever order their elements are in."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from compare.hlo.arrays.memo import Memo

TOLERANCE = 1e-5
"""For float32, relative to a value's scale; other types scale with their unit roundoff. Some 80 units in the last
place: what sums of some thousand terms in another order come to, and less than a wrong epsilon makes."""

_LEAST_PRECISE = 0.02
_SAMPLE = 4096
CHUNK = 1 << 14
"""Elements that are looked at together: as float64 they stay in a processor's cache, and are read several times."""

_SQUARED = 1e150
"""Squares of larger numbers overflow, those of numbers below one over it are lost."""

_REMEMBERED = 1 << 16
"""Fingerprints, of half a KiB each: what all levels of a model of ten thousand values have."""


@dataclass(frozen=True)
class Fingerprint:
    """Properties of an array that survive a permutation of its elements and rounding of its floats.

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


def fingerprint(array: np.ndarray, tolerance: float, content: bytes = b"") -> Fingerprint:
    """The fingerprint of one array.

    Args:
      array: of any shape and dtype.
      tolerance: float32's.
      content: the array's digest, where `content_of` has computed it already.
    """
    digest = content or content_of(array)
    return _MEMO.get((digest, tolerance), lambda: _compute(array, digest, tolerance))


def content_of(array: np.ndarray) -> bytes:
    """The digest of an array's bytes and shape."""
    # A cryptographic hash for which processors have instructions.
    content = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    content.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return content.digest()


def _compute(array: np.ndarray, content: bytes, tolerance: float) -> Fingerprint:
    flat = array.ravel()
    if not is_float(array.dtype):
        kind = "pred" if array.dtype == np.bool_ else "integer"
        nothing = (0, 0, 0), 0.0, (0.0, 0.0, 0.0)
        return Fingerprint(flat.size, kind, _hash_elements(flat), *nothing, _entropy(np.sort(_sample(flat))), content)
    special, largest, sums = _survey(flat)
    finite = flat[np.isfinite(_magnitudes(flat))] if any(special) else flat
    sample = np.sort(_magnitudes(_sample(finite)))
    scale = _scale(finite, sample, largest)
    bits = _bits(finite, sample, scale, tolerance_of(array.dtype, tolerance))
    plain = sums if scale == largest > 1 / _SQUARED else None
    spread = _spread(finite, scale) if plain is None else _over(plain, finite.size, scale)
    return Fingerprint(flat.size, array.dtype.name, 0, special, scale, spread, bits, content)


def is_float(dtype: np.dtype) -> bool:
    """Whether values of a type are rounded."""
    return "float" in dtype.name or dtype.kind == "c"


def _magnitudes(flat: np.ndarray) -> np.ndarray:
    """Floats as float64; of complex numbers, which have no order, the magnitude."""
    return np.abs(flat).astype(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def _chunks(flat: np.ndarray) -> Iterator[np.ndarray]:
    """The array piece by piece, as float64."""
    for start in range(0, flat.size, CHUNK):
        yield _magnitudes(flat[start : start + CHUNK])


def _survey(flat: np.ndarray) -> tuple[tuple[int, int, int], float, np.ndarray | None]:
    """How many elements are NaN, +inf and -inf, the largest finite magnitude, and sums, if no square overflows."""
    special, largest = np.zeros(3, np.int64), 0.0
    sums: np.ndarray | None = np.zeros(3)
    for chunk in _chunks(flat):
        most = max(float(np.max(chunk)), -float(np.min(chunk)))
        # Not of a NaN either.
        if not most < _SQUARED:
            sums = None
        elif sums is not None:
            sums += _sums(chunk)
        if not math.isfinite(most):
            special += np.isnan(chunk).sum(), np.isposinf(chunk).sum(), np.isneginf(chunk).sum()
            most = float(np.max(np.abs(chunk), where=np.isfinite(chunk), initial=0.0))
        largest = max(largest, most)
    nan, positive, negative = map(int, special)
    return (nan, positive, negative), largest, sums


def _sums(chunk: np.ndarray) -> tuple[float, float, float]:
    """The sums of the elements, of their magnitudes and of their squares; overwrites the chunk."""
    # No product by BLAS: on busy processors the threads of NumPy's library wait for one another for seconds.
    total, square = chunk.sum(), np.einsum("i,i->", chunk, chunk)
    return float(total), float(np.abs(chunk, out=chunk).sum()), float(square)


def _hash_elements(flat: np.ndarray) -> int:
    """A sum over hashed elements, so that it does not depend on their order."""
    words = flat.astype(np.int64).astype(np.uint64)
    words ^= words >> np.uint64(31)
    words *= np.uint64(0x7FB5D329728EA185)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x81DADEF4BC2DD44D)
    return int(np.add.reduce(words ^ (words >> np.uint64(33)), dtype=np.uint64))


def _sample(flat: np.ndarray) -> np.ndarray:
    """At most some thousand elements, at the same random places of every array of this size."""
    if flat.size <= _SAMPLE:
        return flat
    return flat[_places(flat.size)]


@functools.lru_cache(maxsize=64)
def _places(size: int) -> np.ndarray:
    return np.random.default_rng(0).integers(size, size=_SAMPLE)


def _scale(finite: np.ndarray, sample: np.ndarray, largest: float) -> float:
    """The largest magnitude but for values that fill whole parts; theirs where there is no other."""
    values, counts = _runs(sample)
    filling = values[counts >= max(2, counts.sum() // 64)]
    if not filling.size:
        return largest
    return max((_largest_but(chunk, filling) for chunk in _chunks(finite)), default=0.0) or largest


def _largest_but(chunk: np.ndarray, filling: np.ndarray) -> float:
    rest = np.ones(chunk.shape, np.bool_)
    for value in filling:
        rest &= chunk != value
    return float(np.max(np.abs(chunk), where=rest, initial=0.0))


def _runs(sorted_values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different values of a sorted array, and how often each occurs."""
    starts = np.flatnonzero(np.concatenate(([True], sorted_values[1:] != sorted_values[:-1]))[: sorted_values.size])
    return sorted_values[starts], np.diff(starts, append=sorted_values.size)


def _spread(finite: np.ndarray, scale: float) -> tuple[float, float, float]:
    """Mean, mean magnitude and root mean square over the scale."""
    sums = np.zeros(3)
    for chunk in _chunks(finite if scale else finite[:0]):
        chunk /= scale
        # Values that fill whole parts may be far larger than the scale: they count as that.
        sums += _sums(np.clip(chunk, -1, 1, out=chunk))
    return _over(sums, finite.size, 1.0)


def _over(sums: np.ndarray, elements: int, scale: float) -> tuple[float, float, float]:
    if not elements or not scale:
        return 0.0, 0.0, 0.0
    mean, magnitude, square = sums / elements
    return float(mean / scale), float(magnitude / scale), math.sqrt(square) / scale


def _entropy(sorted_values: np.ndarray) -> float:
    """Bits of an array of these values in random order; they are given sorted."""
    if sorted_values.size < 2:
        return 0.0
    shares = _runs(sorted_values)[1] / sorted_values.size
    return float(-(shares * np.log2(shares)).sum() * sorted_values.size)


def _bits(finite: np.ndarray, sample: np.ndarray, scale: float, within: float) -> float:
    """Each number that is not a whole one tells as much as its type is precise; whole ones, only where they stand."""
    # The least numbers of a type have no unit.
    unit = within * scale
    if not unit or is_progression(_magnitudes(finite[:_SAMPLE])):
        return 0.0
    telling = sample[np.abs(sample - np.round(sample)) > within * np.maximum(1.0, np.abs(sample))]
    distinct = _runs(np.round(telling / unit))[0].size
    return _entropy(np.round(sample / unit)) + distinct * math.log2(1 / within)


def is_progression(flat: np.ndarray) -> bool:
    """Whether an array counts up or down in equal steps, as an iota does, or stands still."""
    if flat.size < 3:
        return flat.size == 2 and bool(flat[0] == flat[1])
    steps = np.diff(flat[: min(flat.size, _SAMPLE)].astype(np.float64))
    return bool(np.all(np.abs(steps - steps[0]) <= 1e-6 * np.abs(steps[0])))


def could_be_equal(left: Fingerprint, right: Fingerprint, within: float) -> bool:
    """Whether two fingerprints allow their arrays to be one value.

    Args:
      within: the tolerance of their dtype, relative to the scale.
    """
    if (left.elements, left.kind, left.exact, left.special) != (right.elements, right.kind, right.exact, right.special):
        return False
    if abs(left.scale - right.scale) > 2 * within * max(left.scale, right.scale):
        return False
    return all(abs(one - other) <= 4 * within for one, other in zip(left.spread, right.spread, strict=True))
