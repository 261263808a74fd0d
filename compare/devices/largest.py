"""The largest batch that fits into a device's memory, by as few compilations as a line through the last two allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

MOST_TRIED = 12
"""Batches that are compiled at most."""
CLOSE = 32
"""The search ends where a batch fits and one that is larger by this part of it does not."""
GROWTH = 64
"""A line through two small batches says little of one beyond so many times their size."""


@dataclass(frozen=True)
class Largest:
    """The result of a search.

    Attributes:
      fits: the largest batch that was tried and fits; None where none does.
      too_large: the smallest that was tried and does not; None where the search ended before one.
      expected: where it ended before one, that at which the line through the two largest meets the memory.
    """

    fits: int | None
    too_large: int | None
    expected: int | None = None


def largest(peak_at: Callable[[int], float | None], memory: float, first: int, most: int) -> Largest:
    """Search between 1 and a bound.

    Args:
      peak_at: gives the bytes that a batch takes; None where the compiler refuses it as too large.
      memory: bytes of the device.
      most: the largest that may be tried.
    """
    peaks: dict[int, float] = {}
    fits, too_large, misses = 0, most + 1, 0
    batch = min(max(first, 1), most)
    for _ in range(MOST_TRIED):
        peak = peak_at(batch)
        if peak is not None:
            peaks[batch] = peak
        if peak is not None and peak <= memory:
            fits, misses = max(fits, batch), 0
        else:
            too_large, misses = min(too_large, batch), misses + 1
        if too_large - fits <= max(1, fits // CLOSE):
            break
        # A line that overshoots twice is none that its memory follows.
        prediction = _predict(peaks, memory) if misses < 2 else math.isqrt(fits * too_large)
        batch = _next(fits, too_large, prediction)
    if too_large <= most:
        return Largest(fits or None, too_large)
    return Largest(fits or None, None, _predict(peaks, memory))


def _predict(peaks: dict[int, float], memory: float) -> int | None:
    """Where the line through the two largest batches of known peak meets the memory; None where it never does."""
    if len(peaks) < 2:
        return None
    low, high = sorted(peaks)[-2:]
    slope = (peaks[high] - peaks[low]) / (high - low)
    return int(high + (memory - peaks[high]) / slope) if slope > 0 else None


def _next(fits: int, too_large: int, prediction: int | None) -> int:
    """A batch between both, as near to the prediction as still ends the search."""
    step = max(1, fits // CLOSE)
    lowest, highest = fits + min(step, too_large - fits - 1), too_large - 1
    if not fits:
        return max(1, too_large // 2)
    if prediction is None:
        return min(2 * fits, (fits + too_large) // 2)
    return min(max(prediction, lowest), highest, GROWTH * fits)
