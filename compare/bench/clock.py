"""The clock: seconds that calls take, and nothing about what they mean."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Nanoseconds from an arbitrary start, never going back."""

NANOSECONDS = 1e-9


def time_calls(call: Callable[[], object], calls: int, clock: Clock = time.perf_counter_ns) -> list[float]:
    """Seconds of each of `calls` calls, in order.

    Args:
      call: returns when its results exist: a framework that only enqueues work has its barrier inside.
      clock: that they are timed by.
    """
    seconds = []
    for _ in range(calls):
        start = clock()
        call()
        seconds.append((clock() - start) * NANOSECONDS)
    return seconds


def slow_down(call: Callable[[], object], part: float, clock: Clock = time.perf_counter_ns) -> Callable[[], object]:
    """The call, and then a spin of `part` of the time that it took: a slowdown of known size.

    Args:
      part: of its time: 0.05 for 5 %.
      clock: that it is timed by.
    """

    def longer() -> object:
        start = clock()
        result = call()
        end = clock()
        until = end + part * (end - start)
        while clock() < until:
            pass
        return result

    return longer
