"""Charts of a function over its sizes: times of every mode, and ratios with intervals around a line at 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import altair as alt

from compare.record.crossing_part import SizedRun, SizeSeries
from compare.report import crossing_rows, drawing, numbers
from compare.report.crossing_rows import MODES, RATIOS
from workloads._modes import TF_GRAPH

HEIGHT = 220
_DASHED, _SOLID = [5, 3], [1, 0]
_SHAPES = dict(zip(MODES, ("circle", "square", "diamond"), strict=True))
_TICKS = [digit * 10.0**power for power in range(-9, 5) for digit in (1, 2, 5)]
_ASIDE = 1.03
"""The two ratios of one size stand so far left and right of it, as a factor."""
_ROOM = 0.16
"""Of the plot's width, right of the last point: names of the lines stand there."""


@dataclass(frozen=True)
class _Place:
    """A value of a mode at a size; an interval has two ends."""

    mode: str
    size: float
    value: float
    low: float
    high: float
    color: str
    shape: str


@dataclass(frozen=True)
class _Mark:
    size: float
    value: float
    label: str
    color: str


def times(series: SizeSeries) -> str:
    """Time of a call by size and mode, both logarithmic; empty where nothing was timed."""
    rows = [row for mode in MODES for run in series.runs if (row := _time(run, mode))]
    if not rows:
        return ""
    span = drawing.domain([row.value for row in rows], margin=1.5)
    axis = alt.Axis(
        labelExpr=drawing.TIME_LABELS, title="time of a call, logarithmic", labelOverlap=True, values=_TICKS
    )
    return drawing.svg(drawing.layered(_lines(rows, series, _log(span), axis), HEIGHT))


def ratios(series: SizeSeries) -> str:
    """Ratios by size with their intervals, 1 as a line, crossings marked; empty where all are withheld."""
    rows = [row for name in RATIOS for run in series.runs if (row := _ratio(run, name))]
    if not rows:
        return ""
    scale = _log(drawing.domain([1.0, *(end for row in rows for end in (row.low, row.high))], margin=1.25))
    axis = alt.Axis(title="time over that of tf/graph, logarithmic", format="~g", values=_TICKS, labelOverlap=True)
    one = alt.Chart(alt.Data(values=[{"value": 1.0}])).mark_rule(color=drawing.INK, strokeDash=[4, 3])
    intervals = alt.Chart(drawing.data(rows)).mark_rule(strokeWidth=1.5)
    layers = [
        one.encode(y=alt.Y("value:Q", scale=scale, axis=axis)),
        *_crossings(series, scale, axis),
        intervals.encode(
            x=_across(series), y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q", color=drawing.literal()
        ),
        *_lines(rows, series, scale, axis),
    ]
    return drawing.svg(drawing.layered(layers, HEIGHT))


def _time(run: SizedRun, mode: str) -> _Place | None:
    value = numbers.finite(run.seconds.get(mode))
    return _place(run, mode, value, value, value, 1.0) if value is not None and value > 0 else None


def _ratio(run: SizedRun, name: str) -> _Place | None:
    known = run.ratios.get(name)
    value = numbers.finite(known.ratio) if known else None
    if known is None or value is None or value <= 0:
        return None
    low, high = (numbers.finite(end) for end in known.interval or (None, None))
    aside = _ASIDE if name == RATIOS[-1] else 1 / _ASIDE
    return _place(run, name.partition(" vs ")[0], value, low or value, high or value, aside)


def _place(run: SizedRun, mode: str, value: float, low: float, high: float, aside: float) -> _Place:
    return _Place(mode, (run.size or 1) * aside, value, low, high, drawing.color(mode), _SHAPES[mode])


def _lines(rows: Sequence[_Place], series: SizeSeries, scale: alt.Scale, axis: alt.Axis) -> list[alt.Chart]:
    """A line and points for each mode, its name at the end.

    Args:
      rows: the points.
      series: that they are of.
      scale: of the vertical axis.
      axis: the same axis as it is drawn.
    """
    across, up = _across(series), alt.Y("value:Q", scale=scale, axis=axis)
    lines: list[alt.Chart] = []
    for mode in dict.fromkeys(row.mode for row in rows):
        base = alt.Chart(drawing.data([row for row in rows if row.mode == mode]))
        dash = _DASHED if mode == str(TF_GRAPH) else _SOLID
        lines.append(base.mark_line(strokeWidth=1.5, strokeDash=dash).encode(x=across, y=up, color=drawing.literal()))
    points = alt.Chart(drawing.data(rows)).mark_point(filled=True, size=55, opacity=1)
    names = alt.Chart(drawing.data(_ends(rows, scale))).mark_text(align="left", dx=8)
    shape = alt.Shape("shape:N", scale=None)
    return [
        *lines,
        points.encode(x=across, y=up, color=drawing.literal(), shape=shape),
        names.encode(x=across, y=up, color=drawing.literal(), text="mode:N"),
    ]


def _ends(rows: Sequence[_Place], scale: alt.Scale) -> list[_Place]:
    """Of each mode the last point, moved to where its name may stand."""
    modes = dict.fromkeys(row.mode for row in rows)
    last = [max((row for row in rows if row.mode == mode), key=lambda row: row.size) for mode in modes]
    places = drawing.apart([row.value for row in last], scale["domain"], HEIGHT)
    return [replace(row, value=place) for row, place in zip(last, places, strict=True)]


def _crossings(series: SizeSeries, scale: alt.Scale, axis: alt.Axis) -> list[alt.Chart]:
    """A line across the plot at every crossing, its size at the top."""
    top = scale["domain"][1]
    marks = [
        _Mark(at, top, crossing_rows.about(at), drawing.color(each.ratio))
        for each in series.crossings
        if (at := numbers.finite(each.at)) is not None
    ]
    if not marks:
        return []
    base = alt.Chart(drawing.data(marks)).encode(x=_across(series), color=drawing.literal())
    names = base.mark_text(align="left", dx=4, dy=8).encode(y=alt.Y("value:Q", scale=scale, axis=axis), text="label:N")
    return [base.mark_rule(strokeWidth=1, strokeDash=[2, 2]), names]


def _across(series: SizeSeries) -> alt.X:
    sizes = [float(run.size) for run in series.runs if run.size]
    low, high = drawing.domain(sizes, margin=1.3)
    scale = _log([low, high * (high / low) ** _ROOM])
    axis = alt.Axis(title=f"{series.dimension}, logarithmic", values=sizes, format=",d", labelOverlap=True)
    return alt.X("size:Q", scale=scale, axis=axis)


def _log(span: Sequence[float]) -> alt.Scale:
    return alt.Scale(type="log", domain=list(span), nice=False)
