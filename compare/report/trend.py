"""A history as one page: each ratio against the number of the run, with a break wherever a run is unlike the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
from markupsafe import Markup

from compare.history.likeness import Difference
from compare.history.series import Line, Point, Trend
from compare.report import drawing, numbers, verdicts
from compare.report.overviews import anchors
from compare.report.page_html import TEMPLATES, templates
from compare.report.showable import printable
from compare.writing import write_atomically

HEIGHT = 90
WIDTH = 620
NEAR = 1.1
"""Ratios within this factor of 1 share a plot with the line at 1."""

BREAK_LABEL = 40
"""Characters of the differing keys that a break has room for; the page lists them whole."""


@dataclass(frozen=True)
class _Row:
    """One ratio by its last run, and what is said of it against the runs before."""

    ratio: str
    last: str
    interval: str
    withheld: str
    verdict: str
    confirmed: bool


@dataclass(frozen=True)
class _Drawn:
    """A point as the chart draws it."""

    run: int
    segment: int
    ratio: float
    low: float
    high: float
    color: str


@dataclass(frozen=True)
class _Section:
    """All ratios of one workload."""

    name: str
    anchor: str
    chart: Markup
    breaks: tuple[tuple[int, tuple[str, ...]], ...]
    """The first run after each, and in what it differs from the one before."""
    rows: tuple[_Row, ...]


def write_trend(trend: Trend, path: Path) -> Path:
    """Write the page of a history; returns its path."""
    write_atomically(path, page(trend))
    return path


def page(trend: Trend) -> str:
    """The whole page for a history: no script, no network, every string escaped."""
    safe = printable(trend)
    by_workload: dict[str, list[Line]] = {}
    for line in safe.lines:
        by_workload.setdefault(line.workload, []).append(line)
    names = anchors(by_workload)
    return (
        templates()
        .get_template("trend.html.j2")
        .render(
            runs=[numbers.count(run) for run in safe.runs],
            confirmed=sum(line.confirmed for line in safe.lines),
            sections=[_section(name, names[name], lines) for name, lines in by_workload.items()],
            words=verdicts.WORDS,
            style=Markup((TEMPLATES / "report.css").read_text()),
        )
    )


def chart(lines: Sequence[Line]) -> str:
    """The lines of one workload over one another, a plot a ratio; empty where every ratio was withheld."""
    runs = [point.run for line in lines for point in line.points]
    plots = [plot for line in lines if (plot := _plot(line, runs))]
    return drawing.svg(alt.VConcatChart(vconcat=plots, spacing=14)) if plots else ""


def _section(name: str, anchor: str, lines: Sequence[Line]) -> _Section:
    breaks = {
        change.run: tuple(difference.line for difference in change.differences)
        for line in lines
        for change in line.breaks
    }
    rows = tuple(map(_row, lines))
    return _Section(name, anchor, Markup(chart(lines)), tuple(breaks.items()), rows)


def _row(line: Line) -> _Row:
    last = line.points[-1] if line.points else None
    return _Row(
        ratio=line.ratio,
        last=numbers.ratio(last.ratio if last else None),
        interval=numbers.interval(last.ci95 if last else None),
        withheld=last.withheld if last else "",
        verdict=line.verdict,
        confirmed=line.confirmed,
    )


def _plot(line: Line, runs: Sequence[int]) -> alt.LayerChart | None:
    color = drawing.color(line.ratio)
    rows = [row for point in line.points if (row := _point(point, color))]
    if not rows:
        return None
    ends = [end for row in rows for end in (row.low, row.ratio, row.high)]
    span = _span(ends)
    across = alt.X(
        "run:Q",
        scale=alt.Scale(domain=[min(runs) - 0.5, max(runs) + 0.5], nice=False),
        axis=alt.Axis(title="run", values=sorted(set(runs)), format="d", grid=False, labelOverlap=True),
    )

    def up(field: str) -> alt.Y:
        axis = alt.Axis(title=None, format="~g", tickCount=4, labelOverlap=True)
        return alt.Y(field, scale=alt.Scale(type="log", domain=span, nice=False), axis=axis)

    base = alt.Chart(drawing.data(rows)).encode(x=across, color=drawing.literal())
    one = alt.Chart(alt.Data(values=[{"one": 1.0}])).mark_rule(color=drawing.INK, strokeDash=[4, 3])
    layers = [
        *_breaks(line, across, span),
        *([one.encode(y=up("one:Q"))] if span[0] < 1 < span[1] else []),
        base.mark_line(strokeWidth=1.5).encode(y=up("ratio:Q"), detail=alt.Detail("segment:N")),
        base.mark_rule(strokeWidth=2).encode(y=up("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=30, opacity=1).encode(y=up("ratio:Q")),
    ]
    title = alt.TitleParams(f"{line.ratio}: {line.verdict}" if line.verdict else line.ratio, offset=16)
    return drawing.layer_charts(layers, HEIGHT, WIDTH).properties(title=title)


def _span(ends: Sequence[float]) -> list[float]:
    """The axis of one plot: what was measured, and the line at 1 where it is near; a change of 5 % must show."""
    near = [*ends, 1.0] if min(ends) / NEAR < 1 < max(ends) * NEAR else list(ends)
    return drawing.domain(near, margin=1.05)


def _point(point: Point, color: str) -> _Drawn | None:
    ratio = numbers.finite(point.ratio)
    if ratio is None or ratio <= 0 or point.withheld:
        return None
    ends = [number for end in point.ci95 or () if (number := numbers.finite(end)) and number > 0]
    low, high = ends if len(ends) == 2 else (ratio, ratio)
    return _Drawn(point.run, point.segment, ratio, low, high, color)


def _breaks(line: Line, across: alt.X, span: Sequence[float]) -> list[alt.Chart]:
    """A line before the first run that is unlike the one before it, with the keys that differ.

    Args:
      line: the ratio.
      across: the axis of runs.
      span: the ends of the axis of ratios.
    """
    rows = [{"run": change.run - 0.5, "top": span[1], "label": _keys(change.differences)} for change in line.breaks]
    if not rows:
        return []
    base = alt.Chart(alt.Data(values=rows)).encode(x=across)
    top = alt.Y("top:Q", scale=alt.Scale(type="log", domain=list(span), nice=False))
    rules = base.mark_rule(color=drawing.NULL_COLOR, strokeWidth=1.5)
    labels = base.mark_text(align="left", baseline="bottom", dx=2, dy=-2, color=drawing.NULL_COLOR, fontSize=10)
    return [rules, labels.encode(y=top, text=alt.Text("label:N"))]


def _keys(differences: Sequence[Difference]) -> str:
    """The keys alone, cut to what a plot has room for: "cpu, jax.jaxlib"."""
    keys = ", ".join(difference.key for difference in differences)
    return keys if len(keys) <= BREAK_LABEL else f"{keys[:BREAK_LABEL]}…"
