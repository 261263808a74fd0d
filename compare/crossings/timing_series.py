"""Functions at several sizes: judges each size, then times all sizes that pass, in the same pairs of processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from compare.bench import pairs, stats, timing
from compare.bench.crossing_points import Point, crossings
from compare.crossings import sized_times
from compare.crossings.size_series import Series
from compare.crossings.sized_times import Asked, Judged
from compare.inputs.at_size import Prepared
from compare.measure import timed_samples
from compare.measure.timed_samples import Samples
from compare.measure.timed_sets import Timed
from compare.progress import Reporter
from compare.prove.other_sizes import judge_at
from compare.record.crossing_part import CrossingPoint, Crossings, SizedRun, SizeRatio, SizeSeries
from compare.record.envelope import SCHEMA
from compare.record.timing_part import Timing
from compare.record.vocabulary import NOT_APPLICABLE, PASS
from compare.sides.pool import Pool
from workloads.core.modes import JAX_JIT, TF_GRAPH, TF_JIT, Arm, Pair

MODES: Mapping[str, Sequence[str]] = {"tf": (TF_GRAPH.name, TF_JIT.name), "jax": (JAX_JIT.name,)}

RATIOS = (Pair(TF_JIT, TF_GRAPH), Pair(JAX_JIT, TF_GRAPH))
"""Ratios of compiled code in either framework to the graph that TensorFlow runs kernel by kernel."""


def survey(series: Sequence[Series], request: Asked, scratch: Path, reporter: Reporter) -> Crossings:
    """Judge every function at every size, time those that agree, and say where the ratios cross 1.

    Raises:
      RequestError, BadTarget, KeyboardInterrupt: as `sized_times.survey` does.
    """
    result = sized_times.survey(series, request, scratch, reporter, _judge)
    names = {function.workload.name: function for function in series}
    all_series = [
        judged_series(function, result.runs(name), result.samples_of(name), request.plan.threads)
        for name, function in names.items()
    ]
    return Crossings(
        schema=SCHEMA,
        series=tuple(all_series),
        threads=request.plan.threads,
        environment=result.environment,
        interrupted=result.interrupted,
    )


def _judge(pool: Pool, series: Series, size: int, instance: Prepared | str, reporter: Reporter) -> Judged[SizedRun]:
    if isinstance(instance, str):
        return Judged(SizedRun(size=size, parity=NOT_APPLICABLE, reason=instance))
    dimension = series.sizes.dimension
    parity, _ = judge_at(pool, instance, {dimension: size}, reporter, (TF_GRAPH, TF_JIT, JAX_JIT))
    run = SizedRun(size=size, parity=parity.verdict, reason=parity.reason)
    if parity.verdict != PASS:
        return Judged(run)
    title = f"{series.workload.name} at {dimension}={size}"
    return Judged(run, Timed(sized_times.retitle(instance, title), MODES, {}))


def judged_series(
    series: Series, runs: Sequence[SizedRun], samples: Sequence[Samples | None], threads: int | None
) -> SizeSeries:
    """The record of a function over its sizes.

    Args:
      runs: by size, parity alone.
      samples: by size, what was timed; None of what was not.
    """
    level = stats.level_together(sized_times.LEVEL, len(runs))
    timed_runs = [
        run if samples_of_run is None else _add_times(run, samples_of_run, level, threads)
        for run, samples_of_run in zip(runs, samples, strict=True)
    ]
    return SizeSeries(
        name=series.workload.name,
        summary=series.workload.summary,
        dimension=series.sizes.dimension,
        level=level,
        runs=tuple(timed_runs),
        crossings=tuple(crossing for pair in RATIOS for crossing in _crossings(str(pair), timed_runs)),
    )


def _add_times(run: SizedRun, samples: Samples, level: float, threads: int | None) -> SizedRun:
    summary = timed_samples.summarise(samples, (), threads).timing
    rounds_by_arm = pairs.samples_of(samples.pairs)
    ratios = {str(pair): _ratio(pair, summary, rounds_by_arm, level) for pair in RATIOS}
    return replace(
        run,
        seconds={mode: mode_times.median_s for mode, mode_times in summary.modes.items()},
        ratios=ratios,
        null=summary.null,
        failures=tuple(samples.failures),
    )


def _ratio(pair: Pair, summary: Timing, rounds_by_arm: timing.Samples, level: float) -> SizeRatio:
    recorded_ratio = summary.ratios.get(str(pair))
    estimate = timing.pair_ratio(rounds_by_arm, Arm(pair.left), Arm(pair.right))
    return sized_times.as_size_ratio(estimate, recorded_ratio.withheld if recorded_ratio else "", level)


def _crossings(ratio: str, runs: Sequence[SizedRun]) -> list[CrossingPoint]:
    return [
        CrossingPoint(
            ratio=ratio,
            at=crossing.at,
            between=crossing.between,
            becomes=crossing.becomes,
            undecided=crossing.undecided,
        )
        for crossing in crossings([_point(run, ratio) for run in runs])
    ]


def _point(run: SizedRun, ratio: str) -> Point:
    size_ratio = run.ratios.get(ratio, SizeRatio())
    return Point(run.size or 0, size_ratio.ratio, sized_times.interval_of(size_ratio))
