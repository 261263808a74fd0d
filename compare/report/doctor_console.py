"""A diagnosis on the console: blockers first, then what wants a decision, then the layers; notes are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from compare.record.diagnosis_part import ATTENTION, BLOCKER, NOTE, Diagnosis, Finding, LayerKind, Place
from compare.report import terminal
from compare.report.doctor_words import (
    counterpart,
    effort,
    headline,
    kind_of,
    list_places,
    means,
    of_init,
    summary,
    title,
)
from compare.report.showable import on_lines

_STYLES = {BLOCKER: "bold red", ATTENTION: "yellow", NOTE: "dim"}
_PLACES = 3
_MOST = 25
"""Findings of one severity: the page has all of them."""


def print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print what matters of what is in a model; the page has the rest."""
    safe = on_lines(diagnosis)
    console.print(Text(headline(safe), style="bold"), soft_wrap=True)
    console.print(Text(summary(safe)), soft_wrap=True)
    for severity in (BLOCKER, ATTENTION):
        _print_findings([finding for finding in safe.findings if finding.severity == severity], severity, console)
    if safe.layers:
        console.print()
        terminal.print_table(console, _layers(safe.layers))
    if safe.effort:
        console.print(Text(effort(safe)), soft_wrap=True)


def print_prediction(diagnosis: Diagnosis, console: Console) -> None:
    """Print what `jaxport init` leaves of a model, and the command that writes the port."""
    safe = on_lines(diagnosis)
    lines = [of_init(safe), *(f"  {place}" for place in safe.places or ()), safe.command]
    for line in filter(None, lines):
        console.print(Text(line), soft_wrap=True)


def _print_findings(findings: Sequence[Finding], severity: str, console: Console) -> None:
    for finding in findings[:_MOST]:
        console.print()
        console.print(Text.assemble((severity, _STYLES[severity]), f"  {title(finding)}"), soft_wrap=True)
        for line in filter(None, _finding_lines(finding)):
            console.print(Text(f"  {line}"), soft_wrap=True)
    if len(findings) > _MOST:
        console.print(Text(f"and {len(findings) - _MOST} more"))


def _finding_lines(finding: Finding) -> Iterable[str]:
    yield f"{finding.what} {finding.advice}".strip()
    if finding.gotcha:
        yield f"jaxport lookup gotchas {finding.gotcha}"
    yield _places(finding.places, finding.count)


def _places(places: Sequence[Place], count: int) -> str:
    line = list_places(places[:_PLACES], count)
    return f"at {line}" if line else ""


def _layers(layers: Sequence[LayerKind]) -> Table:
    count_column = Column("", justify="right")
    table = Table(Column("layer", no_wrap=True), count_column, "ported by", "counterpart", box=None, pad_edge=False)
    for layer in layers:
        cells = (kind_of(layer), str(len(layer.names)), means(layer), counterpart(layer))
        table.add_row(*map(terminal.cell, cells))
    return table
