"""A history as one page: each ratio against the number of the run, with a break wherever a run is unlike the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
from markupsafe import Markup

from compare.records import to_json, write_atomically
from compare.report import drawing, numbers, verdicts
from compare.report.html import TEMPLATES, templates
from compare.report.showable import entries, part, printable, text
from compare.report.tables import anchors

HEIGHT = 90
WIDTH = 620
NEAR = 1.1
"""Ratios within this factor of 1 share a plot with the line at 1."""

BREAK_LABEL = 40
"""Characters of the differing keys that a break has room for; the page lists them whole."""


def write_trend(trend: object, path: Path) -> Path:
    """Write the page of `compare.history.series.trend`, as an object or as JSON; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page(to_json(trend)))
    return path


def page(trend: Mapping[str, Any]) -> str:
    """The whole page for a history as JSON: no script, no network, every string escaped."""
    shown = printable(trend)
    lines = _by_workload(shown)
    names = anchors(lines)
    return (
        templates()
        .get_template("trend.html.j2")
        .render(
            runs=[numbers.count(run) for run in entries(shown, "runs")],
            confirmed=sum(bool(part(line, "confirmed")) for line in entries(shown, "lines")),
            sections=[_section(name, names[name], each) for name, each in lines.items()],
            words=verdicts.WORDS,
            style=Markup((TEMPLATES / "report.css").read_text()),
        )
    )


def chart(lines: Sequence[object]) -> str:
    """The lines of one workload over one another, a plot a ratio; empty where every ratio was withheld."""
    runs = [run for line in lines for point in entries(line, "points") if (run := part(point, "run")) is not None]
    plots = [plot for line in lines if (plot := _plot(line, runs))]
    return drawing.svg(alt.VConcatChart(vconcat=plots, spacing=14)) if plots else ""


def _by_workload(trend: Mapping[str, Any]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for line in entries(trend, "lines"):
        found.setdefault(text(line, "workload"), []).append(line)
    return found


def _section(name: str, anchor: str, lines: Sequence[object]) -> dict[str, Any]:
    breaks = {text(each, "run"): entries(each, "differing") for line in lines for each in entries(line, "breaks")}
    return {
        "name": name,
        "anchor": anchor,
        "chart": Markup(chart(lines)),
        "breaks": [(run, [str(line) for line in differing]) for run, differing in breaks.items()],
        "rows": [_row(line) for line in lines],
    }


def _row(line: object) -> dict[str, Any]:
    points = entries(line, "points")
    last = points[-1] if points else None
    return {
        "ratio": text(line, "ratio"),
        "last": numbers.ratio(part(last, "ratio")),
        "interval": numbers.interval(part(last, "ci95")),
        "withheld": text(last, "withheld"),
        "verdict": text(line, "verdict"),
        "confirmed": bool(part(line, "confirmed")),
    }


def _plot(line: object, runs: Sequence[int]) -> alt.LayerChart | None:
    color = drawing.color(text(line, "ratio"))
    rows = [row for point in entries(line, "points") if (row := _point(point, color))]
    if not rows:
        return None
    ends = [row[key] for row in rows for key in ("low", "ratio", "high")]
    span = _span(ends)
    across = alt.X(
        "run:Q",
        scale=alt.Scale(domain=[min(runs) - 0.5, max(runs) + 0.5], nice=False),
        axis=alt.Axis(title="run", values=sorted(set(runs)), format="d", grid=False, labelOverlap=True),
    )

    def up(field: str) -> alt.Y:
        axis = alt.Axis(title=None, format="~g", tickCount=4, labelOverlap=True)
        return alt.Y(field, scale=alt.Scale(type="log", domain=span, nice=False), axis=axis)

    base = alt.Chart(alt.Data(values=rows)).encode(x=across, color=drawing.literal())
    one = alt.Chart(alt.Data(values=[{"one": 1.0}])).mark_rule(color=drawing.INK, strokeDash=[4, 3])
    layers = [
        *_breaks(line, across, span),
        *([one.encode(y=up("one:Q"))] if span[0] < 1 < span[1] else []),
        base.mark_line(strokeWidth=1.5).encode(y=up("ratio:Q"), detail=alt.Detail("segment:N")),
        base.mark_rule(strokeWidth=2).encode(y=up("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=30, opacity=1).encode(y=up("ratio:Q")),
    ]
    verdict = text(line, "verdict")
    title = alt.TitleParams(f"{text(line, 'ratio')}: {verdict}" if verdict else text(line, "ratio"), offset=16)
    return drawing.layered(layers, HEIGHT, WIDTH).properties(title=title)


def _span(ends: Sequence[float]) -> list[float]:
    """The axis of one plot: what was measured, and the line at 1 where it is near; a change of 5 % must show."""
    near = [*ends, 1.0] if min(ends) / NEAR < 1 < max(ends) * NEAR else list(ends)
    return drawing.domain(near, margin=1.05)


def _point(point: object, color: str) -> dict[str, Any] | None:
    ratio = numbers.finite(part(point, "ratio"))
    if ratio is None or ratio <= 0 or part(point, "withheld"):
        return None
    ends = [number for each in entries(point, "ci95") if (number := numbers.finite(each)) and number > 0]
    low, high = ends if len(ends) == 2 else (ratio, ratio)
    found = {"run": part(point, "run"), "segment": part(point, "segment") or 0}
    return {**found, "ratio": ratio, "low": low, "high": high, "color": color}


def _breaks(line: object, across: alt.X, span: Sequence[float]) -> list[alt.Chart]:
    """A line before the first run that is unlike the one before it, with the keys that differ."""
    rows = [
        {"run": part(each, "run") - 0.5, "top": span[1], "label": _keys(entries(each, "differing"))}
        for each in entries(line, "breaks")
        if part(each, "run") is not None
    ]
    if not rows:
        return []
    base = alt.Chart(alt.Data(values=rows)).encode(x=across)
    top = alt.Y("top:Q", scale=alt.Scale(type="log", domain=list(span), nice=False))
    rules = base.mark_rule(color=drawing.NULL_COLOR, strokeWidth=1.5)
    labels = base.mark_text(align="left", baseline="bottom", dx=2, dy=-2, color=drawing.NULL_COLOR, fontSize=10)
    return [rules, labels.encode(y=top, text=alt.Text("label:N"))]


def _keys(differing: Sequence[object]) -> str:
    """The keys alone, cut to what a plot has room for: "cpu, jax.jaxlib"."""
    keys = ", ".join(str(line).partition(":")[0].partition(" of ")[0] for line in differing)
    return keys if len(keys) <= BREAK_LABEL else f"{keys[:BREAK_LABEL]}…"
