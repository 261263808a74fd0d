"""From which size on a compiled computation is handed to other threads, judged on calls of one program by size. Pure.

A sum of two arrays takes about as long to call at 64 elements as at 500: the call itself takes the time. Where calls
take several times as long from some size on, and other threads compute from there on, that is what handing over costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from compare.record.base import require
from compare.record.cost_parts import Handover, SizedCall

JUMP = 1.8
"""Times as long: JAX's XLA took 8.7 µs below and 20 µs (one thread asked for) or 46 µs (two) above."""

FLAT = 1.3
"""The longest over the shortest on either side of the jump; beyond that, times grow with the size."""

CLOSE = 1.15
"""Two sizes of which the larger is no more times the smaller are not searched between."""


def judge(points: Sequence[SizedCall]) -> Handover:
    """Whether some size parts the calls.

    Below it one thread computes, above it several and at least JUMP times as long. Times are flat below it; above it
    too where the two sizes are not next to one another, as how long other threads take to wake varies. Sizes between
    the two that are neither belong to none: near the limit calls go either way.
    """
    by_size = tuple(sorted(points, key=lambda point: require(point.elements)))
    if any(point.threads is None for point in by_size):
        return Handover(by_size, reason="no processor time was counted, so that it is not known which threads computed")
    alone = list(takewhile(lambda point: point.threads == 1, by_size))
    longer_s = JUMP * max(map(_seconds, alone), default=0.0)
    on_several_threads = list(
        takewhile(lambda point: require(point.threads) > 1 and _seconds(point) >= longer_s, reversed(by_size))
    )
    if not alone or not on_several_threads:
        return Handover(by_size, reason=f"no size parts calls on one thread from longer ones: {_range(by_size)}")
    if not _flat(alone) or not (_adjacent(alone, on_several_threads[-1]) or _flat(on_several_threads)):
        return Handover(by_size, reason=f"times grow with the size: {_range(by_size)}")
    return Handover(by_size, alone[-1], on_several_threads[-1])


def between(handover: Handover) -> int | None:
    """The size to measure next; None where there is nothing to part, or both sizes are close."""
    if handover.below is None or handover.above is None:
        return None
    low, high = require(handover.below.elements), require(handover.above.elements)
    middle = (low + high) // 2
    is_tried = any(point.elements == middle for point in handover.points)
    return None if is_tried or high <= CLOSE * low else middle


def _adjacent(alone: Sequence[SizedCall], next_: SizedCall) -> bool:
    """Whether the jump is too close to explain it by time that grows with the size.

    Where times are flat up to a size, over four times as many elements, twice the size adds less than a third.
    """
    smallest, largest = require(alone[0].elements), require(alone[-1].elements)
    return largest >= 4 * smallest and require(next_.elements) <= 2 * largest


def _flat(points: Sequence[SizedCall]) -> bool:
    seconds = [_seconds(point) for point in points]
    return max(seconds) <= FLAT * min(seconds)


def _seconds(point: SizedCall) -> float:
    return require(point.seconds)


def _range(points: Sequence[SizedCall]) -> str:
    first, last = points[0], points[-1]
    return (
        f"{1e6 * _seconds(first):.1f} µs at {first.elements} elements, {1e6 * _seconds(last):.1f} µs at {last.elements}"
    )
