"""A ladder on the console: its rungs, the layers of the one that fails, and what to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from compare.record.rung_part import AGREES, NOT_COMPARED, NOT_REACHED, Ladder, Layers, LayerVerdict, Rung
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.report.page_console import print_lines, print_rows
from compare.report.pages import Cell, Column, Table, Tone, columns

_WORDS = {PASS: "holds", FAIL: "fails", NOT_APPLICABLE: "none", NOT_REACHED: "not reached", NOT_JUDGED: "not judged"}
_TONES: Mapping[str, Tone] = {
    **{PASS: "pass", FAIL: "fail", NOT_JUDGED: "warning", NOT_REACHED: "note", NOT_APPLICABLE: "note"}
}
_LAYERS = (
    *columns("layer", "class", "module", ""),
    *(Column("error", "number"), Column("given TF's input", "number"), Column("why")),
)
_STATES = {
    "agrees": "agrees",
    "departs": "departs by itself",
    "inherits": "inherits",
    "differs": "differs",
    "not_compared": "not compared",
}
_AROUND = 3
"""Layers that agree, shown before the first that does not."""


def print_ladder(ladder: Ladder, console: Console) -> None:
    """Print every rung, the layers of one that fails, and what to look at."""
    print_rows(_rungs(ladder), console)
    failing = next((rung for rung in ladder.rungs if rung.name == ladder.fails), None)
    if failing is not None:
        _print_failing(failing, console)
    advice = [line for rung in ladder.rungs for line in rung.next]
    if advice:
        console.print()
        print_lines(["look at"], console, "strong")
        print_lines([f"  {number}. {line}" for number, line in enumerate(advice, 1)], console)


def _rungs(ladder: Ladder) -> Table:
    rows: list[tuple[Cell | str, ...]] = []
    for rung in ladder.rungs:
        first, *others = [*rung.told, *rung.remarks] or [""]
        verdict = Cell(_WORDS.get(rung.verdict, rung.verdict), _TONES.get(rung.verdict, ""))
        rows += [(rung.name, verdict, first), *(("", "", line) for line in others)]
    return Table(columns("rung", "", ladder.name), rows)


def _print_failing(rung: Rung, console: Console) -> None:
    layers = rung.layers
    if layers is not None and layers.reason:
        console.print()
        print_lines([f"layers could not be matched: {layers.reason}; the whole output is compared"], console)
    elif layers is not None:
        console.print()
        rows = list(map(_layer, _select_shown(layers.calls)))
        print_rows(Table(_LAYERS, rows, most_on_console=len(rows)), console)
        print_lines(list(_notes(layers)), console, "note")


def _layer(call: LayerVerdict) -> tuple[Cell | str, ...]:
    state = Cell(_STATES.get(call.state, call.state), "fail" if call.state == "departs" else "")
    errors = _error(call.error), _error(call.own_error)
    return _label(call), call.class_name, call.module or "none", state, *errors, call.reason or call.seen_as


def _select_shown(calls: Sequence[LayerVerdict]) -> Sequence[LayerVerdict]:
    """Layers from shortly before the first that departs to the last that was compared."""
    apart = [index for index, call in enumerate(calls) if call.state not in (AGREES, NOT_COMPARED)]
    return calls[max(0, apart[0] - _AROUND) : apart[-1] + 1] if apart else calls


def _notes(layers: Layers) -> Iterator[str]:
    comparable = [call for call in layers.calls if call.state != NOT_COMPARED]
    agree = sum(call.state == AGREES for call in comparable)
    where = "as in training" if layers.pass_ == "gradients" else "as in inference"
    yield (
        f"{len(layers.calls)} calls of layers, {where}, {layers.dtype}, case {layers.case}: {agree} agree, "
        f"{len(comparable) - agree} do not, {len(layers.calls) - len(comparable)} were not compared"
    )


def _label(verdict: LayerVerdict) -> str:
    return f"{verdict.path}, call {verdict.number + 1}" if verdict.number else verdict.path


def _error(error: float | None) -> str:
    return "" if error is None else f"{error:.2g}"
