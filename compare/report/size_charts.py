"""Charts of values by size, both axes logarithmic: a line and points for each mode, intervals, marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import altair as alt

from compare.report import drawing

HEIGHT = 220
_DASHED, _SOLID = [5, 3], [1, 0]
_TICKS = [digit * 10.0**power for power in range(-9, 5) for digit in (1, 2, 5)]
_ROOM = 0.16
"""The share of the plot's width right of the last point, for the names of the lines."""


@dataclass(frozen=True)
class Place:
    """A value of a mode at a size; an interval has two ends."""

    mode: str
    size: float
    value: float
    low: float
    high: float
    color: str
    shape: str
    dashed: bool = False


@dataclass(frozen=True)
class Mark:
    """A line across the plot with a text at its end: upright at a size, or level at a value."""

    at: float
    label: str
    color: str = drawing.INK


@dataclass(frozen=True)
class Across:
    """The horizontal axis: what it is of, and the sizes that are named on it."""

    title: str
    sizes: Sequence[float]

    def axis(self) -> alt.X:
        """For every layer of a chart the same."""
        low, high = self.ends
        axis = alt.Axis(title=f"{self.title}, logarithmic", values=list(self.sizes), format=",d", labelOverlap=True)
        return alt.X("size:Q", scale=_log([low, high]), axis=axis)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the axis."""
        low, high = drawing.domain(self.sizes, margin=1.3)
        return low, high * (high / low) ** _ROOM


def times(rows: Sequence[Place], across: Across, levels: Sequence[Mark] = ()) -> str:
    """Times of a call by size and mode; empty without any.

    Args:
      rows: values in seconds.
    """
    if not rows:
        return ""
    span = drawing.domain([*(row.value for row in rows), *(level.at for level in levels)], margin=1.5)
    axis = alt.Axis(
        labelExpr=drawing.TIME_LABELS, title="time of a call, logarithmic", values=_TICKS, labelOverlap=True
    )
    up = alt.Y("value:Q", scale=_log(span), axis=axis)
    return drawing.svg(drawing.layer_charts([*_levels(levels, across, up), *_lines(rows, across, up, span)], HEIGHT))


def ratios(
    rows: Sequence[Place], across: Across, title: str, uprights: Sequence[Mark] = (), levels: Sequence[Mark] = ()
) -> str:
    """Ratios by size with their intervals, 1 as a line; empty without any.

    Args:
      levels: ratios that are marked beside 1.
    """
    if not rows:
        return ""
    ends = [end for row in rows for end in (row.low, row.high)]
    span = drawing.domain([1.0, *ends, *(level.at for level in levels)], margin=1.25)
    axis = alt.Axis(title=f"{title}, logarithmic", format="~g", values=_TICKS, labelOverlap=True)
    up = alt.Y("value:Q", scale=_log(span), axis=axis)
    intervals = alt.Chart(drawing.data(rows)).mark_rule(strokeWidth=1.5)
    low = alt.Y("low:Q", scale=_log(span), axis=axis)
    layers = [
        *_levels([Mark(1.0, ""), *levels], across, up),
        *_uprights(uprights, across, up, span),
        intervals.encode(x=across.axis(), y=low, y2="high:Q", color=drawing.literal()),
        *_lines(rows, across, up, span),
    ]
    return drawing.svg(drawing.layer_charts(layers, HEIGHT))


def _lines(rows: Sequence[Place], across: Across, up: alt.Y, span: Sequence[float]) -> list[alt.Chart]:
    """A line and points for each mode, its name at the end."""
    x = across.axis()
    lines: list[alt.Chart] = []
    for mode in dict.fromkeys(row.mode for row in rows):
        own = [row for row in rows if row.mode == mode]
        line_mark = alt.Chart(drawing.data(own)).mark_line(
            strokeWidth=1.5, strokeDash=_DASHED if own[0].dashed else _SOLID
        )
        lines.append(line_mark.encode(x=x, y=up, color=drawing.literal()))
    points = alt.Chart(drawing.data(rows)).mark_point(filled=True, size=55, opacity=1)
    names = alt.Chart(drawing.data(_ends(rows, span))).mark_text(align="left", dx=8)
    return [
        *lines,
        points.encode(x=x, y=up, color=drawing.literal(), shape=alt.Shape("shape:N", scale=None)),
        names.encode(x=x, y=up, color=drawing.literal(), text="mode:N"),
    ]


def _ends(rows: Sequence[Place], span: Sequence[float]) -> list[Place]:
    """The last point of each mode, moved so that names do not overlap."""
    modes = dict.fromkeys(row.mode for row in rows)
    last = [max((row for row in rows if row.mode == mode), key=lambda row: row.size) for mode in modes]
    places = drawing.apart([row.value for row in last], span, HEIGHT)
    return [replace(row, value=place) for row, place in zip(last, places, strict=True)]


def _levels(marks: Sequence[Mark], across: Across, up: alt.Y) -> list[alt.Chart]:
    rows = [{"value": mark.at, "size": across.ends[0], "label": mark.label, "color": mark.color} for mark in marks]
    if not rows:
        return []
    base = alt.Chart(alt.Data(values=rows)).encode(y=up, color=drawing.literal())
    names = base.mark_text(align="left", dx=4, dy=-6).encode(x=across.axis(), text="label:N")
    return [base.mark_rule(strokeDash=[4, 3]), names]


def _uprights(marks: Sequence[Mark], across: Across, up: alt.Y, span: Sequence[float]) -> list[alt.Chart]:
    rows = [{"size": mark.at, "value": span[1], "label": mark.label, "color": mark.color} for mark in marks]
    if not rows:
        return []
    base = alt.Chart(alt.Data(values=rows)).encode(x=across.axis(), color=drawing.literal())
    names = base.mark_text(align="left", dx=4, dy=8).encode(y=up, text="label:N")
    return [base.mark_rule(strokeWidth=1, strokeDash=[2, 2]), names]


def _log(span: Sequence[float]) -> alt.Scale:
    return alt.Scale(type="log", domain=list(span), nice=False)
