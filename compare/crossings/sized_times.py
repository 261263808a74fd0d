"""Times of functions at several sizes, all in the same processes; interrupted, those that were complete."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.bench import stats
from compare.bench.crossing_points import Point
from compare.inputs.at_size import Prepared
from compare.inputs.request import Plan
from compare.measure import timed_sets
from compare.measure.timed_samples import Samples
from compare.measure.timed_sets import Timed
from compare.progress import Reporter
from compare.record.crossing_part import SizeRatio
from compare.sides.pool import Source
from workloads._declared import Declared

LEVEL = 0.95
"""With which all intervals of one series of ratios hold together."""


@dataclass(frozen=True)
class Asked:
    """How a survey is made: where the sides come from, how often and how long it times, seconds of a request."""

    sources: Mapping[str, Source]
    plan: Plan
    timeout_s: float = 300


def titled(prepared: Prepared, title: str) -> Prepared:
    """The same under a name of its own, which its samples are told apart by."""
    return dataclasses.replace(prepared, workload=Declared(reference="", name=title))


def stated(estimate: stats.Ratio | None, withheld: str, level: float) -> SizeRatio:
    """A ratio at one size as the record has it.

    Args:
      estimate: the ratio; None where there was no pair in which both ran.
      withheld: why it may not be stated; empty where nothing speaks against it.
      level: of its interval.
    """
    if estimate is None:
        return SizeRatio(verdict=stats.INCONCLUSIVE, withheld=withheld or "not both were timed")
    if withheld:
        return SizeRatio(pairs=estimate.pairs, verdict=stats.INCONCLUSIVE, withheld=withheld)
    interval = stats.interval_at(estimate, level)
    known = None if interval == stats.UNKNOWN else interval
    return SizeRatio(
        pairs=estimate.pairs, ratio=estimate.ratio, interval=known, verdict=Point(1, estimate.ratio, known).side
    )


def interval_of(ratio: SizeRatio) -> stats.Interval | None:
    """The interval of a ratio; None where it has none."""
    low, high = ratio.interval or (None, None)
    return None if low is None or high is None else (low, high)


def measure(
    to_time: Sequence[Timed], asked: Asked, scratch: Path, reporter: Reporter
) -> tuple[Mapping[str, Samples], bool]:
    """What was timed, by title, and whether a signal ended it.

    Args:
      to_time: of different titles.
      asked: how.
      scratch: a folder for arrays in transit and what was compiled.
      reporter: is told of every step.

    Raises:
      KeyboardInterrupt: before anything was timed.
    """
    if not to_time:
        return {}, False
    try:
        samples = timed_sets.measure(to_time, asked.sources, asked.plan, scratch, asked.timeout_s, reporter)
    except timed_sets.Interrupted as stopped:
        if not any(taken.pairs for taken in stopped.samples.values()):
            raise KeyboardInterrupt from None
        return stopped.samples, True
    return samples, False
