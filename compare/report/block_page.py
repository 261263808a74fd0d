"""The page of `jaxport crossing blocks`: of every chain its times by size of its blocks, and which to compile."""

from __future__ import annotations

from collections.abc import Iterator

from compare.record.block_part import BlockAdvice, BlockRun, BlockSeries, ChainsInBlocks
from compare.record.crossing_part import SizeRatio
from compare.record.vocabulary import PASS
from compare.report import crossing_page, drawing, numbers, size_charts
from compare.report.crossing_page import REMARK, ratio_cell
from compare.report.pages import Cell, Charts, Column, Page, Section, Table, columns
from compare.report.showable import printable
from compare.report.size_charts import Across, Mark, Place
from workloads.core.modes import JAX_EAGER, JAX_JIT, TF_EAGER, TF_GRAPH, TF_JIT

BLOCKED = tuple(map(str, (TF_GRAPH, TF_EAGER, JAX_EAGER)))
WHOLE = tuple(map(str, (TF_JIT, JAX_JIT)))
HOW = {
    str(TF_GRAPH): "blocks called by a graph",
    str(TF_EAGER): "blocks called from Python, TensorFlow",
    str(JAX_EAGER): "blocks called from Python, JAX",
    str(TF_JIT): "compiled whole, TensorFlow",
    str(JAX_JIT): "compiled whole, JAX",
}

_SHAPES = dict(zip((*BLOCKED, *WHOLE), ("circle", "triangle-up", "diamond", "square", "square"), strict=True))
_ASIDE = dict(zip(BLOCKED, (1 / 1.03, 1.0, 1.03), strict=True))
"""Intervals of one size stand beside one another, as a factor."""


def page(record: ChainsInBlocks) -> Page:
    """Every chain: its times by mode and size of the blocks, charts of both, and what follows."""
    safe = printable(record)
    return Page(
        command="jaxport crossing blocks",
        title="Which blocks to compile",
        origin=crossing_page.origin(safe.environment, safe.threads),
        sections=[_section(series) for series in safe.series],
        notes=list(notes(safe)),
    )


def _section(series: BlockSeries) -> Section:
    charts = Charts(
        (
            ("Time of a call by size of the blocks.", times(series)),
            ("Time in blocks over that of the chain compiled whole, with intervals.", ratios(series)),
        )
    )
    return Section(series.name, series.summary, sentences(series), (charts, modes(series)))


def modes(series: BlockSeries) -> Table:
    """By mode, a row for each size of the blocks; compiled whole last, in one row."""
    rows = [_row(run, mode) for mode in BLOCKED for run in series.runs]
    rows += [_row(run, mode, "all") for mode in WHOLE for run in series.runs[-1:]]
    figures = columns("block", "kernels", "time", "over tf/graph", "over whole", kind="number")
    titles = (Column("mode"), *figures, Column("equals whole"), REMARK)
    return Table(titles, rows, f"{series.name} by size of its blocks")


def _row(run: BlockRun, mode: str, block: str = "") -> list[Cell]:
    graph, whole = run.over_graph.get(mode, SizeRatio()), run.over_whole.get(mode, SizeRatio())
    is_first = run.block == 0 or bool(block)
    return [
        Cell(mode, note=HOW[mode] if is_first else ""),
        Cell(block or ("none" if run.block == 0 else numbers.count(run.block))),
        Cell(numbers.count(run.kernels.get(mode))),
        Cell(numbers.seconds(run.seconds.get(mode))),
        Cell("the base") if (run.block, mode) == (0, BLOCKED[0]) else Cell(ratio_cell(graph).text),
        ratio_cell(whole),
        Cell(_same(run, mode)),
        Cell("; ".join(_remarks(run, whole))),
    ]


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
    """Sentences with the advice for each mode."""
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
        yield crossing_page.FEW_PAIRS
    if record.interrupted:
        yield crossing_page.INTERRUPTED


def _is_bare(run: BlockRun) -> bool:
    return any(crossing_page.is_bare(ratio) for ratio in run.over_whole.values())


def times(series: BlockSeries) -> str:
    """Time of a call by size of the blocks and mode; empty where nothing was timed."""
    rows = [row for mode in (*BLOCKED, *WHOLE) for run in _runs_in_blocks(series) if (row := _time(run, mode))]
    plain = next((run for run in series.runs if run.block == 0), BlockRun())
    graph = numbers.finite(plain.seconds.get(str(TF_GRAPH)))
    levels = [Mark(graph, "tf/graph, nothing compiled", drawing.color(str(TF_GRAPH)))] if graph else []
    return size_charts.times(rows, _across(series), levels)


def ratios(series: BlockSeries) -> str:
    """Time in blocks over that of the chain compiled whole; empty where all is withheld."""
    rows = [row for mode in BLOCKED for run in _runs_in_blocks(series) if (row := _ratio(run, mode))]
    gain = numbers.finite(series.least_gain)
    levels = [Mark(1 / (1 - gain), f"whole gains {numbers.share(gain)}", drawing.NULL_COLOR)] if gain else []
    return size_charts.ratios(rows, _across(series), "time over compiled whole", levels=levels)


def _runs_in_blocks(series: BlockSeries) -> list[BlockRun]:
    return [run for run in series.runs if run.block]


def _time(run: BlockRun, mode: str) -> Place | None:
    value = numbers.finite(run.seconds.get(mode))
    return _place(run, mode, value, value, value, 1.0) if value is not None and value > 0 else None


def _ratio(run: BlockRun, mode: str) -> Place | None:
    size_ratio = run.over_whole.get(mode, SizeRatio())
    value = numbers.finite(size_ratio.ratio)
    if value is None or value <= 0:
        return None
    low, high = (numbers.finite(end) for end in size_ratio.interval or (None, None))
    return _place(run, mode, value, low or value, high or value, _ASIDE[mode])


def _place(run: BlockRun, mode: str, value: float, low: float, high: float, aside: float) -> Place:
    return Place(
        mode, (run.block or 1) * aside, value, low, high, drawing.color(mode), _SHAPES[mode], dashed=mode in WHOLE
    )


def _across(series: BlockSeries) -> Across:
    return Across("layers in a compiled function", [float(run.block) for run in _runs_in_blocks(series) if run.block])
