"""From which size on each side's XLA hands a computation to other threads: one program at growing sizes."""

from __future__ import annotations

import math
import statistics

from compare.bench import handover
from compare.hlo import probes
from compare.measure.phase_processes import Workers
from compare.progress import Reporter
from compare.record.cost_parts import Handover, SizedCall
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.requests import Loading
from compare.sides.workers import WorkerSet

SIZES = tuple(1 << exponent for exponent in range(6, 14))
"""Elements: up to 96 KiB in a call, which lie in every processor's caches."""

CALLS, ROUNDS, STEPS = 200, 5, 4
"""Calls of a round, rounds of a size, and sizes that are tried between two."""

COUNTED_S = 0.05
"""The least time of calls in which threads are counted: the kernel counts their time in ticks of some milliseconds."""

TAKES_PART = 0.1
"""The least share of the busiest thread's time: a thread with less only woke up."""


def measure(loading: Loading, workers: Workers, reporter: Reporter) -> dict[str, Handover]:
    """By side, with the reason where there is none.

    Args:
      loading: a workload to load, without which a worker computes nothing.
    """
    reporter.stage("sizes that are handed to other threads", len(workers.live))
    return {name: _of_side(name, loading, workers, reporter) for name in workers.live}


def search(side: Side) -> Handover:
    """The size of one side, with a workload loaded.

    Raises:
      SideError: it cannot compile or run the program.
    """
    points = [_sized_call(side, elements) for elements in SIZES]
    closest = handover.judge(points)
    for _ in range(STEPS):
        middle = handover.between(closest)
        if middle is None:
            break
        points.append(_sized_call(side, middle))
        closer = handover.judge(points)
        if closer.below is None:
            break  # this one time fits no part; those before it stand
        closest = closer
    return closest


def _of_side(name: str, loading: Loading, workers: Workers, reporter: Reporter) -> Handover:
    reporter.step(name)
    try:
        with WorkerSet(workers.start) as group:
            side = group.get(name)
            requests.load(side, loading)
            return search(side)
    except SideError as error:
        return Handover(reason=error.reason)


def _sized_call(side: Side, elements: int) -> SizedCall:
    handle = requests.compile_program(side, probes.sum_of_two(elements)).handle
    requests.prepare(side, handle)
    rounds = [requests.time_round(side, handle, CALLS) for _ in range(ROUNDS)]
    seconds = statistics.median(map(statistics.median, rounds))
    shares = requests.thread_seconds(side, handle, math.ceil(COUNTED_S / seconds))
    threads = sum(share >= TAKES_PART * shares[0] for share in shares) if shares else None
    return SizedCall(elements, seconds, threads)
