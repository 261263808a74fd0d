"""Charts of limits: peak memory against batch size, and modes under a roofline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import altair as alt

from compare.record.cost_parts import Batch, Batches, Roofline
from compare.record.timing_part import Timing
from compare.record.workload_part import Cost, Workload
from compare.report import drawing, numbers
from compare.report.tables import median, order_modes

HEIGHT = 220
LEADER = 1.5
"""How far right of its point, as a factor, a name of the roofline stands."""

_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

_BINARY_TICKS = [2.0**power for power in range(50)]
_DECIMAL_TICKS = [10.0**power for power in range(-6, 7)]
_RATE_TICKS = [digit * 10.0**power for power in range(4, 17) for digit in (1, 2, 5)]

_RATE_LABELS = (
    "datum.value >= 1e12 ? format(datum.value / 1e12, '~g') + ' TFLOP/s' : "
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' GFLOP/s' : format(datum.value / 1e6, '~g') + ' MFLOP/s'"
)


@dataclass(frozen=True)
class _BatchPoint:
    mode: str
    label: str
    batch: float
    peak: float
    color: str
    shape: str = ""


@dataclass(frozen=True)
class _SpeedPoint:
    """A mode under the roofline: `flops` a byte, `speed` in FLOP a second."""

    label: str
    flops: float
    speed: float
    color: str


@dataclass(frozen=True)
class _Name:
    """The name of a point beside it, and the line between: from `from_` and `at` to `flops` and `speed`."""

    label: str
    flops: float
    speed: float
    color: str
    from_: float
    at: float


@dataclass(frozen=True)
class _Corner:
    flops: float
    speed: float


def batches(workload: Workload) -> str:
    """Peak memory of every mode against batch size, both logarithmic, under the limit; empty without batches."""
    trials = workload.batches or Batches()
    rows = [row for batch in trials.rows if (row := _batch(batch))]
    if not rows:
        return ""
    modes = order_modes(dict.fromkeys(row.mode for row in rows))
    rows = [replace(row, shape=_SHAPES[modes.index(row.mode) % len(_SHAPES)]) for row in rows]
    limit = numbers.finite(trials.limit_bytes)
    span = drawing.domain([row.peak for row in rows] + ([limit] if limit else []), margin=1.5)
    wide = drawing.domain([row.batch for row in rows], margin=1.2)
    values = sorted({row.batch for row in rows})
    across = alt.X(
        "batch:Q",
        scale=alt.Scale(type="log", domain=wide, nice=False),
        axis=alt.Axis(title="batch, logarithmic", values=values, format="d", labelOverlap=True),
    )
    up = _axis("peak", span, "peak memory, logarithmic", drawing.BYTE_LABELS, _BINARY_TICKS)
    base = alt.Chart(drawing.data(rows)).encode(x=across, y=up, color=drawing.literal())
    lines = base.mark_line(strokeWidth=1.5).encode(detail="mode:N")
    points = base.mark_point(filled=True, size=50, opacity=1).encode(shape=alt.Shape("shape:N", scale=None))
    ends = [max((row for row in rows if row.mode == mode), key=lambda row: row.batch) for mode in modes]
    apart = [row for batch in values for row in _peaks_apart([end for end in ends if end.batch == batch], span)]
    labels = _labels(apart, across, "peak", span)
    ceiling = _ceiling(limit, f"limit {numbers.binary_bytes(limit)}", wide, span) if limit else []
    return drawing.svg(drawing.layer_charts([*ceiling, lines, points, labels], HEIGHT))


def roofline(workload: Workload) -> str:
    """Arithmetic a second against arithmetic a byte, both logarithmic: limits as lines, modes as points.

    Every mode stands at the intensity of the mathematics, its stated cost over the bytes of the roofline: what a mode
    moves beyond that is part of its distance from the limit. Empty where the cost or the limits are not known.
    """
    recorded_roofline = workload.roofline or Roofline()
    flops = numbers.finite((workload.cost or Cost()).flops)
    working_set, bandwidth = map(
        numbers.finite, (recorded_roofline.working_set_bytes, recorded_roofline.bandwidth_bytes_per_s)
    )
    computing = numbers.finite(recorded_roofline.bounds.get("compute_s"))
    if not flops or not working_set or not bandwidth or not computing:
        return ""
    points = _modes(workload, flops, flops / working_set)
    if not points:
        return ""
    peak = flops / computing
    wide = drawing.domain([flops / working_set, peak / bandwidth], margin=30)
    span = drawing.domain([peak, *(point.speed for point in points)], margin=2)
    scale = alt.Scale(type="log", domain=wide, nice=False)
    ticks = alt.Axis(title="FLOP a byte, logarithmic", format="~g", values=_DECIMAL_TICKS, labelOverlap=True)
    across = alt.X("flops:Q", scale=scale, axis=ticks)
    up = _axis("speed", span, "arithmetic a second, logarithmic", _RATE_LABELS, _RATE_TICKS)
    limits = drawing.data(_limits(peak, bandwidth, wide, span))
    roof = alt.Chart(limits).mark_line(color=drawing.INK, strokeWidth=2).encode(x=across, y=up)
    calling = numbers.finite(recorded_roofline.bounds.get("dispatch_s"))
    ceiling = (
        _ceiling(flops / calling, "dispatch", wide, span, "flops") if calling and flops / calling < span[1] else []
    )
    return drawing.svg(drawing.layer_charts([*ceiling, roof, *_marks(points, across, up, span)], HEIGHT))


def _marks(points: Sequence[_SpeedPoint], across: alt.X, up: alt.Y, span: Sequence[float]) -> list[alt.Chart]:
    """Modes as points, and a thin line from each to its name."""
    places = drawing.apart([point.speed for point in points], span, HEIGHT)
    apart = [
        _Name(point.label, LEADER * point.flops, place, point.color, point.flops, point.speed)
        for point, place in sorted(zip(points, places, strict=True), key=lambda pair: -pair[1])
    ]
    leaders = alt.Chart(drawing.data(apart)).mark_rule(strokeWidth=1, color=drawing.GRID)
    base = alt.Chart(drawing.data(points)).encode(x=across, y=up, color=drawing.literal())
    return [
        leaders.encode(x=alt.X("from:Q"), y=alt.Y("at:Q"), x2="flops:Q", y2="speed:Q"),
        base.mark_point(filled=True, size=60, opacity=1),
        _labels(apart, across, "speed", span),
    ]


def _batch(row: Batch) -> _BatchPoint | None:
    batch, peak = numbers.finite(row.batch), numbers.finite(row.peak_bytes)
    if not batch or not peak or batch <= 0 or peak <= 0:
        return None
    return _BatchPoint(row.mode, row.mode, batch, peak, drawing.color(row.mode))


def _limits(peak: float, bandwidth: float, wide: Sequence[float], span: Sequence[float]) -> list[_Corner]:
    """Corners of the roof; where the bandwidth's line leaves the plot at the bottom, it starts there.

    Args:
      bandwidth: bytes a second.
    """
    start = max(wide[0], span[0] / bandwidth)
    return [
        _Corner(start, min(peak, bandwidth * start)),
        _Corner(peak / bandwidth, peak),
        _Corner(wide[1], peak),
    ]


def _modes(workload: Workload, flops: float, intensity: float) -> list[_SpeedPoint]:
    """A point a mode."""
    times = workload.timing or Timing()
    seconds = {mode: median(times, mode) for mode in order_modes(times.modes)}
    return [
        _SpeedPoint(mode, intensity, flops / value, drawing.color(mode))
        for mode, value in seconds.items()
        if value and value > 0
    ]


def _axis(field: str, span: Sequence[float], title: str, labels: str, values: Sequence[float]) -> alt.Y:
    return alt.Y(
        f"{field}:Q",
        scale=alt.Scale(type="log", domain=list(span), nice=False),
        axis=alt.Axis(title=title, labelExpr=labels, labelOverlap=True, values=list(values)),
    )


def _labels(
    rows: Sequence[_BatchPoint] | Sequence[_Name], across: alt.X, field: str, span: Sequence[float]
) -> alt.Chart:
    """Names beside the points.

    Args:
      rows: the points, already as far apart as lines of text must be.
    """
    where = alt.Y(f"{field}:Q", scale=alt.Scale(type="log", domain=list(span), nice=False))
    base = alt.Chart(drawing.data(rows))
    return base.mark_text(align="left", dx=7).encode(x=across, y=where, text="label:N", color=drawing.literal())


def _peaks_apart(points: Sequence[_BatchPoint], span: Sequence[float]) -> list[_BatchPoint]:
    """Points where their names may stand."""
    places = drawing.apart([point.peak for point in points], span, HEIGHT)
    return [replace(point, peak=place) for point, place in zip(points, places, strict=True)]


def _ceiling(
    value: float, label: str, wide: Sequence[float], span: Sequence[float], across: str = "batch"
) -> list[alt.Chart]:
    """A dashed line across the plot, named at its left end."""
    base = alt.Chart(alt.Data(values=[{"value": value, across: wide[0], "label": label}]))
    where = alt.Y("value:Q", scale=alt.Scale(type="log", domain=list(span), nice=False))
    x = alt.X(f"{across}:Q", scale=alt.Scale(type="log", domain=list(wide), nice=False))
    line = base.mark_rule(color=drawing.INK, strokeDash=[4, 3]).encode(y=where)
    name = base.mark_text(align="left", dx=4, dy=-7, color=drawing.INK).encode(x=x, y=where, text="label:N")
    return [line, name]
