"""Functions over their sizes: parity at each, times of those that agree in the same pairs of processes, the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.bench import pairs, stats, timing
from compare.bench.crossing_points import Point, crossings
from compare.crossings import sized_times
from compare.crossings.size_series import Series, drawn
from compare.crossings.sized_times import Asked
from compare.inputs.at_size import Prepared
from compare.measure import timed_samples
from compare.measure.timed_samples import Samples
from compare.measure.timed_sets import Timed
from compare.progress import Reporter
from compare.prove.other_sizes import judged_at
from compare.record.crossing_part import CrossingPoint, Crossings, SizedRun, SizeRatio, SizeSeries
from compare.record.envelope import SCHEMA
from compare.record.timing_part import Timing
from compare.record.vocabulary import NOT_APPLICABLE, PASS
from compare.run import record_parts
from compare.sides.pool import Pool
from workloads._modes import JAX_JIT, TF_GRAPH, TF_JIT, Arm, Pair

MODES: Mapping[str, Sequence[str]] = {"tf": (TF_GRAPH.name, TF_JIT.name), "jax": (JAX_JIT.name,)}

RATIOS = (Pair(TF_JIT, TF_GRAPH), Pair(JAX_JIT, TF_GRAPH))
"""What compiling gains over the graph that TensorFlow runs kernel by kernel, in either framework."""


@dataclass(frozen=True)
class _Judged:
    """A function at one size: what parity says, and what is timed where it passes."""

    run: SizedRun
    timed: Timed | None = None


def survey(series: Sequence[Series], asked: Asked, scratch: Path, reporter: Reporter) -> Crossings:
    """Judge every function at every size, time those that agree, and say where the ratios cross 1.

    Args:
      series: functions of different names.
      asked: how.
      scratch: a folder for arrays in transit and what was compiled.
      reporter: is told of every step.

    Raises:
      RequestError, BadTarget: a function has no such dimension, its code fails, or it does not exist.
      KeyboardInterrupt: before anything was timed.
    """
    arrays = {each.workload.name: drawn(each.workload, each.sizes, scratch) for each in series}
    with Pool(dict(asked.sources), scratch, asked.timeout_s) as pool:
        judged = {each.workload.name: _judge_each(pool, each, arrays[each.workload.name], reporter) for each in series}
        environment = record_parts.environment(pool.environments())
    to_time = [each.timed for function in judged.values() for each in function if each.timed is not None]
    samples, interrupted = sized_times.measure(to_time, asked, scratch, reporter)
    return Crossings(
        schema=SCHEMA,
        series=tuple(_series(each, judged[each.workload.name], samples, asked.plan.threads) for each in series),
        threads=asked.plan.threads,
        environment=environment,
        interrupted=interrupted,
    )


def _judge_each(
    pool: Pool, series: Series, arrays: Sequence[tuple[int, Prepared | str]], reporter: Reporter
) -> list[_Judged]:
    name, dimension = series.workload.name, series.sizes.dimension
    reporter.stage(f"{name}: parity at {len(series.sizes.sizes)} sizes", len(series.sizes.sizes) * _STEPS)
    return [
        _judge(pool, f"{name} at {dimension}={size}", {dimension: size}, prepared, reporter)
        for size, prepared in arrays
    ]


_STEPS = 1 + 2 * 8
"""Of the progress at one size, roughly."""


def _judge(
    pool: Pool, title: str, dimensions: Mapping[str, int], prepared: Prepared | str, reporter: Reporter
) -> _Judged:
    (size,) = dimensions.values()
    if isinstance(prepared, str):
        return _Judged(SizedRun(size=size, parity=NOT_APPLICABLE, reason=prepared))
    at, _ = judged_at(pool, prepared, dimensions, reporter, (TF_GRAPH, TF_JIT, JAX_JIT))
    run = SizedRun(size=size, parity=at.verdict, reason=at.reason)
    if at.verdict != PASS:
        return _Judged(run)
    return _Judged(run, Timed(sized_times.titled(prepared, title), MODES, {}))


def _series(
    series: Series, judged: Sequence[_Judged], samples: Mapping[str, Samples], threads: int | None
) -> SizeSeries:
    taken = [samples.get(each.timed.name) if each.timed else None for each in judged]
    return judged_series(series, [each.run for each in judged], taken, threads)


def judged_series(
    series: Series, runs: Sequence[SizedRun], samples: Sequence[Samples | None], threads: int | None
) -> SizeSeries:
    """What may be said of a function over its sizes.

    Args:
      series: the function.
      runs: by size, parity alone.
      samples: by size, what was timed; None of what was not.
      threads: that were asked for.
    """
    level = stats.level_together(sized_times.LEVEL, len(runs))
    filled = [
        run if taken is None else _timed(run, taken, level, threads) for run, taken in zip(runs, samples, strict=True)
    ]
    return SizeSeries(
        name=series.workload.name,
        summary=series.workload.summary,
        dimension=series.sizes.dimension,
        level=level,
        runs=tuple(filled),
        crossings=tuple(crossing for pair in RATIOS for crossing in _crossings(str(pair), filled)),
    )


def _timed(run: SizedRun, samples: Samples, level: float, threads: int | None) -> SizedRun:
    summary = timed_samples.summarise(samples, (), threads).timing
    taken = pairs.samples_of(samples.pairs)
    ratios = {str(pair): _ratio(pair, summary, taken, level) for pair in RATIOS}
    return SizedRun(
        size=run.size,
        parity=run.parity,
        reason=run.reason,
        seconds={mode: timed.median_s for mode, timed in summary.modes.items()},
        ratios=ratios,
        null=summary.null,
        failures=tuple(samples.failures),
    )


def _ratio(pair: Pair, summary: Timing, taken: timing.Samples, level: float) -> SizeRatio:
    stated = summary.ratios.get(str(pair))
    estimate = timing.paired(taken, Arm(pair.left), Arm(pair.right))
    return sized_times.stated(estimate, stated.withheld if stated else "", level)


def _crossings(ratio: str, runs: Sequence[SizedRun]) -> list[CrossingPoint]:
    return [
        CrossingPoint(ratio=ratio, at=found.at, between=found.between, becomes=found.becomes, undecided=found.undecided)
        for found in crossings([_point(run, ratio) for run in runs])
    ]


def _point(run: SizedRun, ratio: str) -> Point:
    known = run.ratios.get(ratio, SizeRatio())
    return Point(run.size or 0, known.ratio, sized_times.interval_of(known))
