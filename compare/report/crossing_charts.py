"""Charts of a function over its sizes: times of every mode, and ratios with the crossings marked."""

from __future__ import annotations

from compare.record.crossing_part import SizedRun, SizeSeries
from compare.report import crossing_rows, drawing, numbers, size_charts
from compare.report.crossing_rows import MODES, PAIRS
from compare.report.size_charts import Across, Mark, Place
from workloads._modes import TF_GRAPH, Pair

_SHAPES = dict(zip(MODES, ("circle", "square", "diamond"), strict=True))
_ASIDE = 1.03
"""The two ratios of one size stand so far left and right of it, as a factor."""


def times(series: SizeSeries) -> str:
    """Time of a call by size and mode; empty where nothing was timed."""
    rows = [row for mode in MODES for run in series.runs if (row := _time(run, mode))]
    return size_charts.times(rows, _across(series))


def ratios(series: SizeSeries) -> str:
    """Ratios by size with their intervals, crossings marked; empty where all are withheld."""
    rows = [row for pair in PAIRS for run in series.runs if (row := _ratio(run, pair))]
    crossings = [
        Mark(size, crossing_rows.about(size), drawing.color(crossing.ratio))
        for crossing in series.crossings
        if (size := numbers.finite(crossing.at)) is not None
    ]
    return size_charts.ratios(rows, _across(series), "time over that of tf/graph", crossings)


def _time(run: SizedRun, mode: str) -> Place | None:
    value = numbers.finite(run.seconds.get(mode))
    return _place(run, mode, value, value, value, 1.0) if value is not None and value > 0 else None


def _ratio(run: SizedRun, pair: Pair) -> Place | None:
    size_ratio = run.ratios.get(str(pair))
    value = numbers.finite(size_ratio.ratio) if size_ratio else None
    if size_ratio is None or value is None or value <= 0:
        return None
    low, high = (numbers.finite(end) for end in size_ratio.interval or (None, None))
    aside = _ASIDE if pair == PAIRS[-1] else 1 / _ASIDE
    return _place(run, str(pair.left), value, low or value, high or value, aside)


def _place(run: SizedRun, mode: str, value: float, low: float, high: float, aside: float) -> Place:
    is_dashed = mode == str(TF_GRAPH)
    return Place(mode, (run.size or 1) * aside, value, low, high, drawing.color(mode), _SHAPES[mode], is_dashed)


def _across(series: SizeSeries) -> Across:
    return Across(series.dimension, [float(run.size) for run in series.runs if run.size])
