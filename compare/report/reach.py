"""How far each input may go: the sweeps behind the stability gate, as rows and as a map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt

from compare.report import drawing, numbers
from compare.report.showable import entries, part, text

_LOOKS: Mapping[str, tuple[str, str, str]] = {
    "holds": ("circle", drawing.GRID, "both hold"),
    "port breaks": ("cross", drawing.TF_COLOR, "the port breaks, TensorFlow holds"),
    "port is better": ("triangle-up", drawing.JAX_COLOR, "the port holds, TensorFlow breaks"),
    "both break": ("diamond", drawing.NULL_COLOR, "both break"),
    "nothing to judge": ("square", drawing.GRID, "nothing to judge: beyond the type, or decided by rounding"),
}
"""By what is said of a call: its mark, its colour, and the sentence of the key."""


@dataclass(frozen=True)
class ReachRow:
    """What one input may be in one pass."""

    input: str
    pass_: str
    verdict: str
    said: tuple[str, ...]
    """Sentences: where it breaks, or how far it holds."""
    operation: str
    """The first that breaks in the port, and where."""
    original: str
    """TensorFlow's line."""


def rows(workload: object) -> list[ReachRow]:
    """A row for each input and pass that was swept."""
    return [
        ReachRow(
            input=text(each, "input"),
            pass_=text(each, "pass"),
            verdict=text(each, "verdict"),
            said=_said(each),
            operation=" at ".join(filter(None, (text(each, "worst", "operation"), text(each, "worst", "line")))),
            original=text(each, "worst", "original_line"),
        )
        for each in entries(workload, "parity", "reach")
    ]


def key(workload: object) -> list[tuple[str, str]]:
    """The marks that the map has, and what each means."""
    said = {text(call, "said") for call in _calls(workload)}
    names = {"circle": "●", "cross": "✚", "triangle-up": "▲", "diamond": "◆", "square": "■"}
    return [(names[mark], sentence) for status, (mark, _, sentence) in _LOOKS.items() if status in said]


def chart(workload: object) -> str:
    """Every call of the sweeps, a row for each pattern of each input and pass; empty where nothing was swept."""
    found = list(_marks(workload))
    if not found:
        return ""
    named = list(dict.fromkeys(mark["row"] for mark in found))
    axis = alt.Axis(title="magnitude, logarithmic", format="~e", tickCount=8, labelOverlap=True)
    scale = alt.Scale(type="log", domain=drawing.domain([mark["magnitude"] for mark in found], margin=3))
    marks = (
        alt.Chart(alt.Data(values=found))
        .mark_point(filled=True, size=45, opacity=1)
        .encode(
            x=alt.X("magnitude:Q", scale=scale, axis=axis),
            y=drawing.names(named, "row"),
            color=drawing.literal(),
            shape=alt.Shape("shape:N", scale=None),
        )
    )
    return drawing.svg(drawing.layered([marks], _ROW_HEIGHT * len(named)))


_ROW_HEIGHT = 15


def _marks(workload: object) -> Iterator[dict[str, Any]]:
    for each in entries(workload, "parity", "reach"):
        for span in entries(each, "spans"):
            for call in entries(span, "calls"):
                magnitude = numbers.finite(part(call, "magnitude"))
                look = _LOOKS.get(text(call, "said"))
                if magnitude is not None and magnitude > 0 and look is not None:
                    name = f"{text(each, 'input')} {text(span, 'pattern')}\u2026 ({text(each, 'pass')})"
                    yield {"row": name, "magnitude": magnitude, "shape": look[0], "color": look[1]}


def _calls(workload: object) -> Iterator[object]:
    for each in entries(workload, "parity", "reach"):
        for span in entries(each, "spans"):
            yield from entries(span, "calls")


def _said(reach: object) -> tuple[str, ...]:
    broken = tuple(sentence for span in entries(reach, "spans") for sentence in _breaks(span))
    if broken:
        return broken
    ends = [number for span in entries(reach, "spans") for end in ("low", "high") if (number := _end(span, end))]
    if not ends:
        return (numbers.MISSING,)
    return (f"nowhere from {min(ends):.3g} to {max(ends):.3g}",)


def _breaks(span: object) -> Iterator[str]:
    pattern, low, high = text(span, "pattern"), _end(span, "low"), _end(span, "high")
    for each in entries(span, "breaks"):
        magnitude = _end(each, "magnitude")
        if magnitude is None:
            continue
        values = f"{pattern}{magnitude:.3g}: jax {_value(each, 'found')}, tf {_value(each, 'original')}"
        held = high if magnitude > 1 else low
        yield f"{values} (holds at {held:.3g})" if held else values


def _end(holder: object, name: str) -> float | None:
    return numbers.finite(part(holder, name))


def _value(found: object, name: str) -> str:
    value = part(found, name)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
