"""Measures how each side's threads share divisible work; compare.bench judges it."""

from __future__ import annotations

from collections.abc import Mapping

from compare.bench import threads
from compare.hlo import probes
from compare.record.timing_part import Bound, Threads
from compare.sides import requests
from compare.sides._side import Side
from workloads.core.device import CPU, ON_CPU, Device
from workloads.protocol.framework import Program

SIDE = 2048
"""The side of the matrices: a call takes 40 ms or more, which no start of a thread disturbs."""

FEWEST, MOST = 5, 25
"""Calls, the largest of which counts: others on the machine keep threads from processors, and only ever lower it.

The fewest, so that one disturbed call does not hide a thread too many; more until the largest is as asked: with
other work on both of two processors, five came out at 1.6 for two threads.
"""


def verify(sides: Mapping[str, Side], count: int, device: Device = ON_CPU) -> Threads:
    """Whether every side, with a workload loaded, computes on `count` threads.

    After loading, since the user's own file may have set threads. A side is to be loaded again before
    its memory is measured: it keeps the matrices until then. On a GPU threads only launch: all that is asked is whether
    the sides may use the same processors.

    Args:
      sides: by name.

    Raises:
      SideError: a side cannot compile or run the probe.
    """
    if device.kind != CPU:
        bounds = {name: Bound(tuple(requests.processors(side)), None) for name, side in sides.items()}
        return threads.judge_processors(count, bounds)
    probe = probes.product(SIDE, "f32")
    return threads.judge(count, {name: observe(side, probe, count) for name, side in sides.items()})


def observe(side: Side, probe: Program, count: int) -> Bound:
    """The processors that a side's threads may use, and how many threads compute a product at once.

    Raises:
      SideError: the side cannot compile or run it.
    """
    handle = requests.compile_program(side, probe).handle
    requests.prepare(side, handle)
    bound = Bound(tuple(requests.processors(side)), None)
    for call in range(MOST):
        # Call by call: over several calls threads take turns, and would be counted as if at once.
        at_once = threads.parallelism(requests.thread_seconds(side, handle, 1))
        if at_once is None:
            break
        bound = Bound(bound.processors, max(bound.parallelism or 0.0, at_once))
        if call + 1 >= FEWEST and threads.uses_requested_threads(count, bound):
            break
    return bound
