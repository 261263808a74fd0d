"""What is said of chains in compiled blocks, as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compare.record.block_part import BlockAdvice, BlockRun, BlockSeries, ChainsInBlocks
from compare.record.crossing_part import SizeRatio
from compare.record.vocabulary import PASS
from compare.report import crossing_rows, numbers
from workloads._modes import JAX_EAGER, JAX_JIT, TF_EAGER, TF_GRAPH, TF_JIT

BLOCKED = tuple(map(str, (TF_GRAPH, TF_EAGER, JAX_EAGER)))
WHOLE = tuple(map(str, (TF_JIT, JAX_JIT)))
HOW = {
    str(TF_GRAPH): "blocks called by a graph",
    str(TF_EAGER): "blocks called from Python, TensorFlow",
    str(JAX_EAGER): "blocks called from Python, JAX",
    str(TF_JIT): "compiled whole, TensorFlow",
    str(JAX_JIT): "compiled whole, JAX",
}


@dataclass(frozen=True)
class BlockRow:
    """One mode in blocks of one size."""

    block: str
    kernels: str
    seconds: str
    over_graph: str
    over_whole: str
    verdict: str
    same: str
    remark: str


def modes(series: BlockSeries) -> list[tuple[str, list[BlockRow]]]:
    """By mode, a row for each size of the blocks; compiled whole last, in one row."""
    in_blocks = [(mode, [_row(run, mode) for run in series.runs]) for mode in BLOCKED]
    whole = [(mode, [_row(run, mode, "all") for run in series.runs[-1:]]) for mode in WHOLE]
    return [*in_blocks, *whole]


def _row(run: BlockRun, mode: str, block: str = "") -> BlockRow:
    graph, whole = run.over_graph.get(mode, SizeRatio()), run.over_whole.get(mode, SizeRatio())
    return BlockRow(
        block=block or ("none" if run.block == 0 else numbers.count(run.block)),
        kernels=numbers.count(run.kernels.get(mode)),
        seconds=numbers.seconds(run.seconds.get(mode)),
        over_graph="the base" if (run.block, mode) == (0, BLOCKED[0]) else crossing_rows.ratio_text(graph),
        over_whole=crossing_rows.ratio_text(whole),
        verdict=whole.verdict,
        same=_same(run, mode),
        remark="; ".join(_remarks(run, whole)),
    )


def _same(run: BlockRun, mode: str) -> str:
    if mode not in run.bit_equal:
        return numbers.MISSING
    return "bit for bit" if run.bit_equal[mode] else f"to {numbers.error(run.error.get(mode))}"


def _remarks(run: BlockRun, ratio: SizeRatio) -> Iterator[str]:
    if run.parity != PASS:
        yield f"not timed: {run.reason or 'parity was not judged'}"
    elif not run.seconds:
        yield "not timed"
    if ratio.withheld and run.seconds:
        yield f"withheld: {ratio.withheld}"
    yield from dict.fromkeys(f"{failure.doing}: {failure.reason}" for failure in run.failures)


def sentences(series: BlockSeries) -> list[str]:
    """What follows for each mode."""
    return [_sentence(series, advice) for mode in BLOCKED for advice in series.advice if advice.mode == mode]


def _sentence(series: BlockSeries, advice: BlockAdvice) -> str:
    gain = numbers.share(series.least_gain)
    subject = f"{advice.mode}, {HOW.get(advice.mode, 'blocks')}"
    if advice.layers is None:
        has_interval = any(run.over_whole.get(advice.mode, SizeRatio()).interval for run in series.runs if run.block)
        conclusion = (
            f"no block is large enough: compiling all at once gains {gain} or more" if has_interval else _UNKNOWN
        )
        return f"{subject}: {conclusion}"
    layers = f"{advice.layers} layer{'s' * (advice.layers != 1)}"
    conclusion = f"compile blocks of at least {layers}: from there on compiling all at once gains"
    if advice.shown:
        return f"{subject}: {conclusion} less than {gain}"
    return (
        f"{subject}: {conclusion} nothing that the intervals tell from 1, or less than {gain}; they do not exclude more"
    )


_UNKNOWN = "undecided: the largest blocks have no interval"


def notes(record: ChainsInBlocks) -> Iterator[str]:
    """How the numbers are to be read, and what is missing."""
    series = record.series[0] if record.series else BlockSeries()
    yield (
        "over tf/graph: the time over that of TensorFlow's graph with no block compiled, through tf/jit, which ran "
        "beside both. over whole: over the same framework's time with all layers in one compiled function."
    )
    if series.level is not None:
        yield (
            f"Intervals of one mode hold together at all sizes with 95 % (Bonferroni: {100 * series.level:.2f} % each "
            f"of {len(series.runs)}). Kernels are those that a profiler saw in one call."
        )
    if any(_is_bare(run) for block_series in record.series for run in block_series.runs):
        yield crossing_rows.FEW_PAIRS
    if record.interrupted:
        yield crossing_rows.INTERRUPTED


def _is_bare(run: BlockRun) -> bool:
    return any(crossing_rows.is_bare(ratio) for ratio in run.over_whole.values())
