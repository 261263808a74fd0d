"""Chains of layers in compiled blocks: parity, kernels and times by size of the blocks, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from compare.bench import block_sizes, pairs, stats, timing
from compare.bench.block_sizes import LEAST_GAIN, Blocks
from compare.crossings import sized_times
from compare.crossings.block_evidence import Seen, collect
from compare.crossings.size_series import Series
from compare.crossings.sized_times import Asked, Judged
from compare.inputs.at_size import Prepared
from compare.measure import timed_samples
from compare.measure.timed_samples import Samples
from compare.measure.timed_sets import Timed
from compare.progress import Reporter
from compare.prove.other_sizes import judge_at
from compare.record.block_part import BlockAdvice, BlockRun, BlockSeries, ChainsInBlocks
from compare.record.crossing_part import SizeRatio
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import NOT_APPLICABLE, PASS
from compare.sides.pool import Pool
from workloads.core.modes import JAX_EAGER, JAX_JIT, TF_EAGER, TF_GRAPH, TF_JIT, Arm, Mode

WHOLE = {TF_EAGER: TF_JIT, TF_GRAPH: TF_JIT, JAX_EAGER: JAX_JIT}
"""The modes that run blocks one after the other, and the mode of the same framework that compiles all of them at once.

Whatever runs compiled blocks eagerly calls each from Python; a graph calls them without it."""

MODES: Mapping[str, Sequence[str]] = {
    "tf": (TF_EAGER.name, TF_GRAPH.name, TF_JIT.name),
    "jax": (JAX_EAGER.name, JAX_JIT.name),
}
_JUDGED = (*WHOLE, TF_JIT, JAX_JIT)

UNCOMPILED = 0
"""The size of blocks that stands for no compiled function."""


def survey(chains: Sequence[Series], request: Asked, scratch: Path, reporter: Reporter) -> ChainsInBlocks:
    """Judge, profile and time every chain in blocks of every size, and say how large blocks have to be.

    Raises:
      RequestError, BadTarget, KeyboardInterrupt: as `sized_times.survey` does.
    """
    result = sized_times.survey(chains, request, scratch, reporter, _judge)
    names = {chain.workload.name: chain for chain in chains}
    series = [
        _series(chain, result.runs(name), result.samples_of(name), request.plan.threads)
        for name, chain in names.items()
    ]
    return ChainsInBlocks(
        schema=SCHEMA,
        series=tuple(series),
        threads=request.plan.threads,
        environment=result.environment,
        interrupted=result.interrupted,
    )


def _judge(pool: Pool, chain: Series, block: int, instance: Prepared | str, reporter: Reporter) -> Judged[BlockRun]:
    if isinstance(instance, str):
        return Judged(BlockRun(block=block, parity=NOT_APPLICABLE, reason=instance))
    parity, _ = judge_at(pool, instance, {chain.sizes.dimension: block}, reporter, _JUDGED)
    run = BlockRun(block=block, parity=parity.verdict, reason=parity.reason)
    if parity.verdict != PASS:
        return Judged(run)
    evidence = collect(pool, instance.loading, WHOLE, reporter)
    title = f"{chain.workload.name} in blocks of {block}"
    return Judged(_with_evidence(run, evidence), Timed(sized_times.retitle(instance, title), MODES, {}))


def _with_evidence(run: BlockRun, evidence: Seen) -> BlockRun:
    return replace(
        run,
        kernels=evidence.kernels,
        bit_equal=evidence.bit_equal,
        error=evidence.error,
        failures=tuple(evidence.failures),
    )


def _series(
    chain: Series, runs_judged: Sequence[BlockRun], samples: Sequence[Samples | None], threads: int | None
) -> BlockSeries:
    level = stats.level_together(sized_times.LEVEL, len(runs_judged))
    runs = _with_times(runs_judged, samples, level, threads)
    return BlockSeries(
        name=chain.workload.name,
        summary=chain.workload.summary,
        level=level,
        least_gain=LEAST_GAIN,
        runs=tuple(runs),
        advice=tuple(_advice(mode, runs) for mode in WHOLE),
    )


def _with_times(
    runs: Sequence[BlockRun], samples: Sequence[Samples | None], level: float, threads: int | None
) -> list[BlockRun]:
    """Every run with its times and ratios."""
    pairs_of = [pairs.samples_of(samples_of_run.pairs) if samples_of_run else {} for samples_of_run in samples]
    base = next((seconds for run, seconds in zip(runs, pairs_of, strict=True) if run.block == UNCOMPILED), {})
    doubts = [_doubt(samples_of_run, threads) for samples_of_run in samples]
    base_doubt = next((doubt for run, doubt in zip(runs, doubts, strict=True) if run.block == UNCOMPILED), "")
    return [
        run
        if samples_of_run is None
        else _add_times(run, samples_of_run, seconds, base, (doubt, doubt or base_doubt), level)
        for run, samples_of_run, seconds, doubt in zip(runs, samples, pairs_of, doubts, strict=True)
    ]


def _doubt(samples: Samples | None, threads: int | None) -> str:
    """Why no ratio of these may be stated; empty where nothing speaks against them."""
    if samples is None:
        return ""
    ratios = timed_samples.summarise(samples, (), threads).timing.ratios.values()
    return next((ratio.withheld for ratio in ratios if ratio.withheld), "")


def _add_times(
    run: BlockRun,
    samples: Samples,
    seconds: timing.Samples,
    base: timing.Samples,
    doubts: tuple[str, str],
    level: float,
) -> BlockRun:
    """A run with its times.

    Args:
      doubts: why no ratio of this run, and none to the base, may be stated.
    """
    whole = {str(mode): _over_whole(mode, seconds, doubts[0], level) for mode in WHOLE}
    modes = [*WHOLE, TF_JIT, JAX_JIT]
    summary = timed_samples.summarise(samples, ()).timing
    return replace(
        run,
        seconds={mode: mode_times.median_s for mode, mode_times in summary.modes.items()},
        over_whole=whole,
        over_graph={str(mode): _over_graph(mode, seconds, base, doubts[1], level) for mode in modes},
        null=summary.null,
        failures=(*run.failures, *samples.failures),
    )


def _over_whole(mode: Mode, seconds: timing.Samples, doubt: str, level: float) -> SizeRatio:
    return sized_times.as_size_ratio(timing.pair_ratio(seconds, Arm(mode), Arm(WHOLE[mode])), doubt, level)


def _over_graph(mode: Mode, seconds: timing.Samples, base: timing.Samples, doubt: str, level: float) -> SizeRatio:
    arms = (seconds.get(Arm(mode)), seconds.get(Arm(TF_JIT)), base.get(Arm(TF_GRAPH)), base.get(Arm(TF_JIT)))
    one, through, other, base_through = arms
    if not one or not through or not other or not base_through:
        return sized_times.as_size_ratio(None, doubt, level)
    return sized_times.as_size_ratio(block_sizes.link(one, through, other, base_through), doubt, level)


def _advice(mode: Mode, runs: Sequence[BlockRun]) -> BlockAdvice:
    ratios_by_block = [
        (run.block or 0, run.over_whole.get(str(mode), SizeRatio())) for run in runs if run.block != UNCOMPILED
    ]
    advice = block_sizes.advice(
        [Blocks(block, ratio.ratio, sized_times.interval_of(ratio)) for block, ratio in ratios_by_block]
    )
    return BlockAdvice(mode=str(mode), layers=advice.layers, shown=advice.shown)
