"""A history as one page: each ratio against the number of the run, with a break wherever a run is unlike the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from compare.history.likeness import Difference
from compare.history.series import Line, Point, Trend
from compare.report import drawing, numbers
from compare.report.pages import Cell, Charts, Column, Lines, Page, Section, Table, columns

HEIGHT = 90
WIDTH = 620
NEAR = 1.1
"""Ratios within this factor of 1 share a plot with the line at 1."""

BREAK_LABEL = 40
"""Characters of the differing keys that a break has room for; the page lists them whole."""

_CAPTION = (
    "Time of A over time of B with 95 % interval, logarithmic; below 1, the dashed line, A is faster. Runs on either "
    "side of a vertical line are not comparable."
)
_RATIOS = (
    *(Column("time of A vs time of B"), *columns("last run", "95 % interval", kind="number")),
    *(Column("against the runs before"), Column("", "wrap")),
)


@dataclass(frozen=True)
class _Drawn:
    """A point as the chart draws it."""

    run: int
    segment: int
    ratio: float
    low: float
    high: float
    color: str


def page(trend: Trend) -> Page:
    """A history: what is confirmed, then a section a workload."""
    by_workload: dict[str, list[Line]] = {}
    for line in trend.lines:
        by_workload.setdefault(line.workload, []).append(line)
    regressions = sum(line.confirmed for line in trend.lines)
    runs = f", {trend.runs[0]} to {trend.runs[-1]}" if trend.runs else ""
    return Page(
        command="jaxport history",
        title=numbers.count_of(regressions, "confirmed regression") if regressions else "No confirmed regression",
        summary=f"{numbers.count_of(len(trend.runs), 'run')}{runs}. A regression is confirmed when the last two runs "
        "both show it against the runs before them.",
        sections=[_section(name, lines) for name, lines in by_workload.items()],
        notes=() if by_workload else ["No run has a ratio."],
    )


def chart(lines: Sequence[Line]) -> str:
    """The lines of one workload over one another, a plot a ratio; empty where every ratio was withheld."""
    runs = [point.run for line in lines for point in line.points]
    plots = [plot for line in lines if (plot := _plot(line, runs))]
    return drawing.svg(alt.VConcatChart(vconcat=plots, spacing=14)) if plots else ""


def _section(name: str, lines: Sequence[Line]) -> Section:
    """All ratios of one workload, and from which runs on they are not comparable with those before."""
    breaks = {
        change.run: [difference.line for difference in change.differences] for line in lines for change in line.breaks
    }
    unlike = [f"from run {run}: {'; '.join(differences)}" for run, differences in breaks.items()]
    svg = chart(lines)
    blocks = (
        Charts([(_CAPTION, svg)]) if svg else Lines(["Every ratio was withheld."], "note"),
        Table(_RATIOS, list(map(_row, lines)), f"ratios of {name}"),
        Lines(unlike, title="Where runs are not comparable"),
    )
    return Section(name, blocks=blocks)


def _row(line: Line) -> Sequence[Cell | str]:
    """The ratio of the last run, and its verdict against the earlier runs."""
    last = line.points[-1] if line.points else None
    withheld = f"withheld: {last.withheld}" if last and last.withheld else ""
    return (
        *(line.ratio, Cell(numbers.ratio(last.ratio if last else None), "strong")),
        *(numbers.interval(last.ci95 if last else None), Cell(line.verdict, "fail" if line.confirmed else "")),
        Cell(withheld, "warning"),
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
    """A line before the first run that is unlike the one before it, with the keys that differ."""
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
