"""Functions at several sizes: judged at each, those that agree timed in the same processes; what is stated of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from compare.bench import stats
from compare.bench.crossing_points import Point
from compare.crossings.size_series import Series, draw
from compare.inputs.at_size import Prepared
from compare.inputs.request import Plan
from compare.measure import timed_sets
from compare.measure.timed_samples import Samples
from compare.measure.timed_sets import Timed
from compare.progress import Reporter
from compare.record.crossing_part import SizeRatio
from compare.record.envelope import Environment
from compare.run import record_parts
from compare.sides.pool import Pool, Source
from workloads.core.declared import Declared

Run = TypeVar("Run")
"""The record of a function at one size."""

LEVEL = 0.95
"""The probability with which all intervals of one series of ratios hold together."""


@dataclass(frozen=True)
class Asked:
    """How a survey is made: where the sides come from, how often and how long it times, seconds of a request."""

    sources: Mapping[str, Source]
    plan: Plan
    timeout_s: float = 300


@dataclass(frozen=True)
class Judged(Generic[Run]):
    """A function at one size: what is recorded before it is timed, and what is timed where parity passes."""

    run: Run
    timed: Timed | None = None


@dataclass(frozen=True)
class Surveyed(Generic[Run]):
    """Functions at their sizes.

    Attributes:
      judged: by function, then size.
      samples: by title, what was timed.
      environment: on what.
      interrupted: whether a signal ended it.
    """

    judged: Mapping[str, Sequence[Judged[Run]]]
    samples: Mapping[str, Samples]
    environment: Environment
    interrupted: bool

    def runs(self, name: str) -> list[Run]:
        """The runs of a function, by size."""
        return [at_size.run for at_size in self.judged[name]]

    def samples_of(self, name: str) -> list[Samples | None]:
        """The times of a function, by size; None at sizes without times."""
        return [self.samples.get(at_size.timed.name) if at_size.timed else None for at_size in self.judged[name]]


def survey(
    series: Sequence[Series],
    request: Asked,
    scratch: Path,
    reporter: Reporter,
    judge: Callable[[Pool, Series, int, Prepared | str, Reporter], Judged[Run]],
) -> Surveyed[Run]:
    """Draw all sizes, judge them one by one, then time those that agree in the same processes.

    Raises:
      RequestError, BadTarget: a function has no such dimension, its code fails, or it does not exist.
      KeyboardInterrupt: before anything was timed.
    """
    arrays = {function.workload.name: draw(function, scratch) for function in series}
    judgements: dict[str, list[Judged[Run]]] = {}
    with Pool(dict(request.sources), scratch, request.timeout_s) as pool:
        for function in series:
            name, sizes = function.workload.name, arrays[function.workload.name]
            reporter.stage(f"{name}: parity at {len(sizes)} sizes of {function.sizes.dimension}", len(sizes))
            judgements[name] = [judge(pool, function, size, instance, reporter) for size, instance in sizes]
        environment = record_parts.environment(pool.environments())
    to_time = [at_size.timed for by_size in judgements.values() for at_size in by_size if at_size.timed is not None]
    samples, was_interrupted = measure(to_time, request, scratch, reporter)
    return Surveyed(judgements, samples, environment, was_interrupted)


def retitle(instance: Prepared, title: str) -> Prepared:
    """Give an instance a name of its own, which tells its samples from others."""
    return dataclasses.replace(instance, workload=Declared(reference="", name=title))


def as_size_ratio(estimate: stats.Ratio | None, reason: str, level: float) -> SizeRatio:
    """A ratio at one size as the record has it.

    Args:
      estimate: the ratio; None where there was no pair in which both ran.
      reason: why it may not be stated; empty where nothing speaks against it.
    """
    if estimate is None:
        return SizeRatio(verdict=stats.INCONCLUSIVE, withheld=reason or "not both were timed")
    if reason:
        return SizeRatio(pairs=estimate.pairs, verdict=stats.INCONCLUSIVE, withheld=reason)
    interval = stats.interval_at(estimate, level)
    known_interval = None if interval == stats.UNKNOWN else interval
    return SizeRatio(
        pairs=estimate.pairs,
        ratio=estimate.ratio,
        interval=known_interval,
        verdict=Point(1, estimate.ratio, known_interval).side,
    )


def interval_of(ratio: SizeRatio) -> stats.Interval | None:
    """The interval of a ratio; None where it has none."""
    low, high = ratio.interval or (None, None)
    return None if low is None or high is None else (low, high)


def measure(
    to_time: Sequence[Timed], request: Asked, scratch: Path, reporter: Reporter
) -> tuple[Mapping[str, Samples], bool]:
    """The times by title, and whether a signal ended the measurement.

    Raises:
      KeyboardInterrupt: before anything was timed.
    """
    if not to_time:
        return {}, False
    try:
        samples = timed_sets.measure(to_time, request.sources, request.plan, scratch, request.timeout_s, reporter)
    except timed_sets.Interrupted as interruption:
        if not any(samples_of_one.pairs for samples_of_one in interruption.samples.values()):
            raise KeyboardInterrupt from None
        return interruption.samples, True
    return samples, False
