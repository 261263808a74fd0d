"""The common parts of charts: colours, names and scales of the page, and the conversion to SVG."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import altair as alt

from compare.plain_json import to_json
from workloads.core.modes import recorded_mode, recorded_pair

TF_COLOR = "#a34a08"
JAX_COLOR = "#2463b0"
NULL_COLOR = "#6b6b6b"
INK = "#333333"
GRID = "#dddddd"
"""The style sheet replaces each of these by name in the dark: no other colours may appear in a chart."""

PLOT_WIDTH = 380
ROW_HEIGHT = 22
LABEL_HEIGHT = 14

Drawing = alt.LayerChart | alt.VConcatChart

TIME_LABELS = (
    "datum.value >= 1 ? format(datum.value, '~g') + ' s' : "
    "datum.value >= 1e-3 ? format(datum.value * 1e3, '~g') + ' ms' : "
    "datum.value >= 1e-6 ? format(datum.value * 1e6, '~g') + ' µs' : format(datum.value * 1e9, '~g') + ' ns'"
)

BYTE_LABELS = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~r') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~r') + ' KiB' : format(datum.value, '~r') + ' B'"
)


def color(name: str) -> str:
    """The colour of the side that runs a mode, or the left mode of a ratio; grey for what is neither side's."""
    pair = recorded_pair(name)
    mode = pair.left if pair else recorded_mode(name)
    if mode is None or mode.is_peer:
        return NULL_COLOR
    return JAX_COLOR if mode.is_port else TF_COLOR


def data(rows: Sequence[object]) -> alt.Data:
    """Dataclasses as the rows of a chart: their fields are what `x="seconds:Q"` names."""
    return alt.Data(values=to_json(rows))


def literal() -> alt.Color:
    """Colours come with the rows, as they are."""
    return alt.Color("color:N", scale=None)


def names(values: Sequence[str], field: str) -> alt.Y:
    """One row a name, in that order."""
    axis = alt.Axis(title=None, labelLimit=260, ticks=False, domain=False, grid=True)
    return alt.Y(f"{field}:N", sort=list(values), axis=axis)


def domain(values: Sequence[float], margin: float) -> list[float]:
    """The ends of a logarithmic axis: a factor `margin` beyond the values."""
    return [min(values) / margin, max(values) * margin]


def apart(values: Sequence[float], span: Sequence[float], height: float) -> list[float]:
    """Places on a logarithmic axis, each moved down until no two lines of text there overlap.

    Args:
      height: of the plot, in pixels.
    """
    gap = LABEL_HEIGHT / height * math.log(span[1] / span[0])
    places = list(values)
    free = math.inf
    for index in sorted(range(len(values)), key=lambda index: values[index], reverse=True):
        place = min(math.log(values[index]), free)
        free = place - gap
        places[index] = math.exp(place)
    return places


def layer_charts(layers: Sequence[alt.Chart], height: float, width: float = PLOT_WIDTH) -> alt.LayerChart:
    """Layers over one another in a plot.

    Args:
      height: of the plot without its axes, in pixels.
    """
    return alt.LayerChart(layer=list(layers)).properties(width=width, height=height)


def svg(chart: Drawing) -> str:
    """The chart as text, in the page's colours and fonts."""
    whole = chart.configure(
        background="transparent",
        font="Arial, Liberation Sans, Helvetica, sans-serif",
        axis=alt.AxisConfig(
            labelColor=INK, titleColor=INK, gridColor=GRID, domainColor=GRID, tickColor=GRID, titleFontWeight="normal"
        ),
        title=alt.TitleConfig(color=INK, subtitleColor=INK, anchor="start", fontSize=12),
        view=alt.ViewConfig(stroke=None),
    )
    file = io.StringIO()
    whole.save(file, format="svg")
    return file.getvalue()
