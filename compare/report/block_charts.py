"""Charts of a chain by size of its compiled blocks: times of every mode, and what compiling it whole gains."""

from __future__ import annotations

from compare.record.block_part import BlockRun, BlockSeries
from compare.record.crossing_part import SizeRatio
from compare.report import drawing, numbers, size_charts
from compare.report.block_rows import BLOCKED, WHOLE
from compare.report.size_charts import Across, Mark, Place
from workloads._modes import TF_GRAPH

_SHAPES = dict(zip((*BLOCKED, *WHOLE), ("circle", "triangle-up", "diamond", "square", "square"), strict=True))
_ASIDE = dict(zip(BLOCKED, (1 / 1.03, 1.0, 1.03), strict=True))
"""Intervals of one size stand beside one another, as a factor."""


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
