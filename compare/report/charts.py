"""Charts as SVG text: drawn while the page is written, so that reading it takes no script and no network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import altair as alt

from compare.record.timing_part import Ratio, Timing
from compare.record.workload_part import Workload
from compare.report import drawing, numbers
from compare.report.tables import median, order_modes
from workloads.core.modes import recorded_mode


@dataclass(frozen=True)
class LossGap:
    """Where two loss curves are farthest apart, relative to the larger loss of that step."""

    first: str
    second: str
    error: float
    step: int


@dataclass(frozen=True)
class _TimePoint:
    mode: str
    seconds: float
    label: str
    color: str


@dataclass(frozen=True)
class _RatioPoint:
    name: str
    ratio: float
    low: float
    high: float
    label: str
    color: str


@dataclass(frozen=True)
class _LossPoint:
    mode: str
    step: int
    loss: float
    color: str
    wide: bool


def timing(workload: Workload) -> str:
    """Median time of each mode, as labelled points on a logarithmic axis; empty where nothing was timed."""
    times = workload.timing or Timing()
    rows = [
        _TimePoint(mode, value, numbers.seconds(value), drawing.color(mode))
        for mode in order_modes(times.modes)
        if (value := median(times, mode)) is not None and value > 0
    ]
    if not rows:
        return ""
    domain = drawing.domain([row.seconds for row in rows], margin=1.3)
    axis = alt.Axis(
        labelExpr=drawing.TIME_LABELS, title="median time of a call, logarithmic", tickCount=6, labelOverlap=True
    )
    base = alt.Chart(drawing.data(rows)).encode(y=drawing.names([row.mode for row in rows], "mode"))
    where = alt.X("seconds:Q", scale=alt.Scale(type="log", domain=domain, nice=False), axis=axis)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x=where, color=drawing.literal())
    labels = base.mark_text(align="left", dx=8, color=drawing.INK).encode(x=where, text=alt.Text("label:N"))
    return drawing.svg(drawing.layer_charts([points, labels], drawing.ROW_HEIGHT * len(rows)))


def ratios(workload: Workload) -> str:
    """Time ratios with 95 % intervals around a line at 1.00, identical code below; empty where all are withheld."""
    times = workload.timing or Timing()
    rows = [
        row
        for group, null in ((times.ratios, False), (times.null, True))
        for name, ratio in group.items()
        if (row := _ratio_point(name, ratio, null))
    ]
    if not rows:
        return ""
    ends = [end for row in rows for end in (row.low, row.ratio, row.high) if 0 < end < math.inf]
    domain = drawing.domain([1.0, *ends], margin=1.3)
    rows_within = [_within(row, domain) for row in rows]
    scale = alt.Scale(type="log", domain=domain, nice=False)
    axis = alt.Axis(title="time ratio with 95 % interval, logarithmic", format="~g", tickCount=6, labelOverlap=True)
    base = alt.Chart(drawing.data(rows_within)).encode(y=drawing.names([row.name for row in rows_within], "name"))
    one = (
        alt.Chart(alt.Data(values=[{"one": 1.0}]))
        .mark_rule(color=drawing.INK, strokeDash=[4, 3])
        .encode(x=alt.X("one:Q"))
    )
    low = alt.X("low:Q", scale=scale, axis=axis)
    intervals = base.mark_rule(strokeWidth=2).encode(x=low, x2=alt.X2("high:Q"), color=drawing.literal())
    where = alt.X("ratio:Q", scale=scale, axis=axis)
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x=where, color=drawing.literal())
    ends_at = alt.X("high:Q", scale=scale, axis=axis)
    labels = base.mark_text(align="left", dx=6, color=drawing.INK).encode(x=ends_at, text=alt.Text("label:N"))
    return drawing.svg(drawing.layer_charts([one, intervals, points, labels], drawing.ROW_HEIGHT * len(rows)))


def losses(workload: Workload) -> str:
    """Loss curves of every recorded mode over one another; empty without a trajectory."""
    curves = _curves(workload)
    originals = [mode for mode in curves if (mode_record := recorded_mode(mode)) and mode_record.is_original]
    rows = [
        _LossPoint(mode, step, loss, drawing.color(mode), mode in originals)
        for mode, curve in curves.items()
        for step, loss in enumerate(curve, start=1)
        if loss is not None
    ]
    if not rows:
        return ""
    base = alt.Chart(drawing.data(rows)).encode(
        x=alt.X(
            "step:Q",
            scale=alt.Scale(zero=False, nice=False),
            axis=alt.Axis(title="training step", tickMinStep=1, format="d"),
        ),
        y=alt.Y("loss:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title="loss")),
        color=drawing.literal(),
        detail=alt.Detail("mode:N"),
    )
    # TF is drawn wide and pale beneath a thin JAX line: equal curves would otherwise show as one.
    under = base.transform_filter("datum.wide").mark_line(strokeWidth=6, opacity=0.4)
    over = base.transform_filter("!datum.wide").mark_line(strokeWidth=1.5)
    return drawing.svg(drawing.layer_charts([under, over], drawing.ROW_HEIGHT * 8))


def loss_gaps(workload: Workload) -> tuple[LossGap, ...]:
    """For every JAX mode against the first TF mode: the step at which the curves are farthest apart."""
    curves = _curves(workload)
    modes = [mode for name in curves if (mode := recorded_mode(name))]
    reference = next((mode for mode in modes if mode.is_original), None)
    ports = [mode for mode in modes if mode.is_port]
    return tuple(_gap(str(mode), str(reference), curves) for mode in ports) if reference else ()


def _ratio_point(name: str, ratio: Ratio, null: bool) -> _RatioPoint | None:
    """A ratio and its interval, 0 and infinity where that has no end; None where the ratio is withheld."""
    value = numbers.finite(ratio.ratio)
    if value is None or value <= 0 or ratio.withheld:
        return None
    low, high = map(numbers.finite, ratio.ci95 or (value, value))
    ends = low or 0.0, math.inf if high is None else high
    title = f"{name} (identical code)" if null else name
    color = drawing.NULL_COLOR if null else drawing.color(name)
    return _RatioPoint(title, value, *ends, numbers.ratio(value), color)


def _within(point: _RatioPoint, domain: Sequence[float]) -> _RatioPoint:
    """An interval without an end runs to the edge of the plot."""
    return replace(point, low=point.low or domain[0], high=domain[1] if math.isinf(point.high) else point.high)


def _curves(workload: Workload) -> dict[str, list[float | None]]:
    trajectories = workload.trajectory
    return {mode: [numbers.finite(loss) for loss in trajectories[mode].loss] for mode in order_modes(trajectories)}


def _gap(first: str, second: str, curves: Mapping[str, Sequence[float | None]]) -> LossGap:
    pairs = zip(curves[first], curves[second], strict=False)
    distances = [_distance(left, right) for left, right in pairs]
    worst = max(range(len(distances)), key=distances.__getitem__, default=-1)
    return LossGap(first, second, distances[worst] if distances else 0.0, worst + 1)


def _distance(left: float | None, right: float | None) -> float:
    if left is None or right is None:
        return 0.0 if left is right else float("inf")
    scale = max(abs(left), abs(right))
    return abs(left - right) / scale if scale else 0.0
