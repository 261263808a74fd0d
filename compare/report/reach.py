"""How far each input may go: the sweeps behind the stability gate, as rows and as a map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import altair as alt

from compare.record.base import Number
from compare.record.parity_part import Break, Call, Parity, Reach, Span
from compare.record.workload_part import Workload
from compare.report import drawing, numbers
from compare.report.verdicts import NOT_JUDGED

_LOOKS: Mapping[str, tuple[str, str, str]] = {
    "holds": ("circle", drawing.GRID, "both hold"),
    "port breaks": ("cross", drawing.TF_COLOR, "the port breaks, TensorFlow holds"),
    "port is better": ("triangle-up", drawing.JAX_COLOR, "the port holds, TensorFlow breaks"),
    "both break": ("diamond", drawing.NULL_COLOR, "both break"),
    "nothing to judge": ("square", drawing.GRID, "nothing to judge: beyond the type, or decided by rounding"),
}
"""By what is said of a call: its mark, its colour, and the sentence of the key."""

_ROW_HEIGHT = 15


@dataclass(frozen=True)
class ReachRow:
    """The range of one input in one pass."""

    input: str
    pass_: str
    verdict: str
    said: tuple[str, ...]
    """Sentences: where it breaks, or how far it holds."""
    operation: str
    """The first that breaks in the port, and where."""
    original: str
    """TensorFlow's line."""


@dataclass(frozen=True)
class _Mark:
    row: str
    magnitude: float
    shape: str
    color: str


def rows(workload: Workload) -> list[ReachRow]:
    """A row for each input and pass that was swept."""
    return [_row(reach) for reach in _reaches(workload)]


def key(workload: Workload) -> list[tuple[str, str]]:
    """The marks that the map has, and what each means."""
    statuses = {call.said for _, _, call in _calls(workload)}
    names = {"circle": "●", "cross": "✚", "triangle-up": "▲", "diamond": "◆", "square": "■"}
    return [(names[mark], sentence) for status, (mark, _, sentence) in _LOOKS.items() if status in statuses]


def chart(workload: Workload) -> str:
    """Every call of the sweeps, a row for each pattern of each input and pass; empty where nothing was swept."""
    marks = list(_marks(workload))
    if not marks:
        return ""
    rows = list(dict.fromkeys(mark.row for mark in marks))
    axis = alt.Axis(title="magnitude, logarithmic", format="~e", tickCount=8, labelOverlap=True)
    scale = alt.Scale(type="log", domain=drawing.domain([mark.magnitude for mark in marks], margin=3))
    points = (
        alt.Chart(drawing.data(marks))
        .mark_point(filled=True, size=45, opacity=1)
        .encode(
            x=alt.X("magnitude:Q", scale=scale, axis=axis),
            y=drawing.names(rows, "row"),
            color=drawing.literal(),
            shape=alt.Shape("shape:N", scale=None),
        )
    )
    return drawing.svg(drawing.layer_charts([points], _ROW_HEIGHT * len(rows)))


def _reaches(workload: Workload) -> tuple[Reach, ...]:
    return (workload.parity or Parity()).reach


def _row(reach: Reach) -> ReachRow:
    worst = reach.worst or Break()
    return ReachRow(
        input=reach.input,
        pass_=reach.pass_,
        verdict=reach.verdict or NOT_JUDGED,
        said=_sentences(reach),
        operation=" at ".join(filter(None, (worst.operation, worst.line))),
        original=worst.original_line,
    )


def _calls(workload: Workload) -> Iterator[tuple[Reach, Span, Call]]:
    for reach in _reaches(workload):
        for span in reach.spans:
            for call in span.calls:
                yield reach, span, call


def _marks(workload: Workload) -> Iterator[_Mark]:
    for reach, span, call in _calls(workload):
        magnitude = numbers.finite(call.magnitude)
        look = _LOOKS.get(call.said)
        if magnitude is not None and magnitude > 0 and look is not None:
            name = f"{reach.input or ''} {span.pattern or ''}\u2026 ({reach.pass_ or ''})"
            yield _Mark(name, magnitude, look[0], look[1])


def _sentences(reach: Reach) -> tuple[str, ...]:
    sentences = tuple(sentence for span in reach.spans for sentence in _breaks(span))
    if sentences:
        return sentences
    ends = [number for span in reach.spans for end in (span.low, span.high) if (number := numbers.finite(end))]
    if not ends:
        return (numbers.MISSING,)
    return (f"nowhere from {min(ends):.3g} to {max(ends):.3g}",)


def _breaks(span: Span) -> Iterator[str]:
    low, high = numbers.finite(span.low), numbers.finite(span.high)
    for gap in span.breaks:
        magnitude = numbers.finite(gap.magnitude)
        if magnitude is None:
            continue
        values = f"{span.pattern or ''}{magnitude:.3g}: jax {_value(gap.found)}, tf {_value(gap.original)}"
        held_magnitude = high if magnitude > 1 else low
        yield f"{values} (holds at {held_magnitude:.3g})" if held_magnitude else values


def _value(value: Number) -> str:
    return numbers.MISSING if value is None else f"{value:.4g}"
