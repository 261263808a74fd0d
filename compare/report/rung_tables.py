"""A ladder on the console: its rungs, the layers of the one that fails, and what to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from compare.record.rung_part import AGREES, NOT_COMPARED, NOT_REACHED, Ladder, Layers, LayerVerdict, Rung
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.report import terminal

_WORDS = {PASS: "holds", FAIL: "fails", NOT_APPLICABLE: "none", NOT_REACHED: "not reached", NOT_JUDGED: "not judged"}
_STYLES = {PASS: "green", FAIL: "bold red", NOT_JUDGED: "yellow", NOT_REACHED: "dim", NOT_APPLICABLE: "dim"}
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
    terminal.print_table(console, _rungs(ladder))
    failing = next((rung for rung in ladder.rungs if rung.name == ladder.fails), None)
    if failing is not None:
        _print_failing(failing, console)
    advice = [line for rung in ladder.rungs for line in rung.next]
    if advice:
        console.print()
        console.print(Text("look at", style="bold"))
        for number, line in enumerate(advice, 1):
            console.print(Text(f"  {number}. {line}"), soft_wrap=True)


def _rungs(ladder: Ladder) -> Table:
    table = Table(Column("rung", no_wrap=True), Column("", no_wrap=True), ladder.name, box=None, pad_edge=False)
    for rung in ladder.rungs:
        lines = [*rung.told, *rung.remarks] or [""]
        verdict = Text(_WORDS.get(rung.verdict, rung.verdict), style=_STYLES.get(rung.verdict, ""))
        table.add_row(terminal.cell(rung.name), verdict, terminal.cell(lines[0]))
        for line in lines[1:]:
            table.add_row("", "", terminal.cell(line))
    return table


def _print_failing(rung: Rung, console: Console) -> None:
    layers = rung.layers
    if layers is not None and layers.reason:
        console.print()
        console.print(
            Text(f"layers could not be matched: {layers.reason}; the whole output is compared"), soft_wrap=True
        )
    elif layers is not None:
        console.print()
        terminal.print_table(console, layer_table(layers))
        for line in _notes(layers):
            console.print(Text(line, style="dim"), soft_wrap=True)


def layer_table(layers: Layers) -> Table:
    """Layers from shortly before the first that departs to the last that was looked at."""
    table = Table(
        *(Column("layer", no_wrap=True), "class", "module", "", Column("error", justify="right")),
        *(Column("given TF's input", justify="right"), "why"),
        box=None, pad_edge=False,
    )  # fmt: skip
    for call in _select_shown(layers.calls):
        state = Text(_STATES.get(call.state, call.state), style="bold red" if call.state == "departs" else "")
        texts = (_error(call.error), _error(call.own_error), call.reason or call.seen_as)
        table.add_row(
            *map(terminal.cell, (_label(call), call.class_name, call.module or "none")), state,
            *map(terminal.cell, texts),
        )  # fmt: skip
    return table


def _select_shown(calls: Sequence[LayerVerdict]) -> Sequence[LayerVerdict]:
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
