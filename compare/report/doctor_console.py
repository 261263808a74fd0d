"""A diagnosis on the console: blockers first, then what wants a decision, then the layers; notes are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from compare.record.diagnosis_part import ATTENTION, BLOCKER, NOTE, Diagnosis, Finding, LayerKind, Place
from compare.report import terminal
from compare.report.doctor_words import counterpart, effort, headline, kind_of, means, of_init, summary, titled, where
from compare.report.showable import on_lines

_STYLES = {BLOCKER: "bold red", ATTENTION: "yellow", NOTE: "dim"}
_PLACES = 3
_MOST = 25
"""Findings of one severity: the page has all of them."""


def print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print what matters of what is in a model; the page has the rest."""
    shown = on_lines(diagnosis)
    console.print(Text(headline(shown), style="bold"), soft_wrap=True)
    console.print(Text(summary(shown)), soft_wrap=True)
    for severity in (BLOCKER, ATTENTION):
        _print_findings([finding for finding in shown.findings if finding.severity == severity], severity, console)
    if shown.layers:
        console.print()
        terminal.print_table(console, _layers(shown.layers))
    if shown.effort:
        console.print(Text(effort(shown)), soft_wrap=True)


def print_prediction(diagnosis: Diagnosis, console: Console) -> None:
    """Print what `jaxport init` leaves of a model, and the command that writes the port."""
    shown = on_lines(diagnosis)
    lines = [of_init(shown), *(f"  {place}" for place in shown.places or ()), shown.command]
    for line in filter(None, lines):
        console.print(Text(line), soft_wrap=True)


def _print_findings(findings: Sequence[Finding], severity: str, console: Console) -> None:
    for finding in findings[:_MOST]:
        console.print()
        console.print(Text.assemble((severity, _STYLES[severity]), f"  {titled(finding)}"), soft_wrap=True)
        for line in filter(None, _told(finding)):
            console.print(Text(f"  {line}"), soft_wrap=True)
    if len(findings) > _MOST:
        console.print(Text(f"and {len(findings) - _MOST} more: the page has all of them"))


def _told(finding: Finding) -> Iterable[str]:
    yield f"{finding.what} {finding.advice}".strip()
    if finding.gotcha:
        yield f"jaxport gotchas {finding.gotcha}"
    yield _places(finding.places, finding.count)


def _places(places: Sequence[Place], count: int) -> str:
    told = [where(place) for place in places[:_PLACES]]
    more = count - len(told)
    return f"at {'; '.join(told)}{f'; and {more} more' if more > 0 else ''}" if told else ""


def _layers(layers: Sequence[LayerKind]) -> Table:
    counted = Column("", justify="right")
    table = Table(Column("layer", no_wrap=True), counted, "ported by", "counterpart", box=None, pad_edge=False)
    for layer in layers:
        cells = (kind_of(layer), str(len(layer.names)), means(layer), counterpart(layer))
        table.add_row(*map(terminal.cell, cells))
    return table
