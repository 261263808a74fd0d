"""The overview on a terminal, and as plain text everywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from compare.record.envelope import Record
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from compare.report import narrow_arithmetic, node_rows, target_rows, verdicts
from compare.report.baselines import against
from compare.report.numbers import list_first
from compare.report.overviews import ColumnGroups, OverviewRow, find_columns, overview
from compare.report.page_console import print_rows
from compare.report.pages import Cell, Column, Table, columns
from compare.report.showable import on_lines
from compare.report.standings import ratio_cell
from compare.report.tables import RatioRow, other_pass
from compare.report.verdicts import STYLES, WORDS
from workloads.core.modes import Mode

_COLUMNS = (
    *(Column("workload"), Column("size", room="wide"), Column("parity"), Column("gates that do not pass")),
    Column("instructions\ntf / jax", "number", "wide"),
    Column("kernels tf/eager\n→ tf/jit → jax/jit", "number", "wide"),
    Column("time of jax/jit\nvs fastest TF mode"),
    Column("jax/jit vs tf/jit: frontend,\ncompiler, runtime", room="wide"),
)


def print_overview(record: Record, console: Console, baseline: Mode | None = None) -> None:
    """The table of workloads, a line for each failing gate and each missing result; the command adds the verdict."""
    lines = on_lines(record)
    overview_rows = overview(lines)
    groups = find_columns(overview_rows)
    rows = [_row(row, groups) for row in overview_rows]
    print_rows(Table(_COLUMNS, rows, most_on_console=len(rows)), console)
    if baseline is not None:
        console.print()
        print_rows(_against_baseline(lines, baseline), console)
    for line in _lines(lines):
        console.print(line, soft_wrap=True)


def _row(row: OverviewRow, groups: ColumnGroups) -> tuple[Cell | str, ...]:
    gates = {name: verdict for name, verdict in row.gates.items() if verdict not in (PASS, NOT_APPLICABLE)}
    return (
        row.name,
        row.size,
        verdicts.cell(row.verdict),
        Cell("", chips=[replace(verdicts.cell(verdict), text=name) for name, verdict in gates.items()]),
        " / ".join(row.instructions) if groups.instructions else "",
        " → ".join(row.kernels) if groups.kernels else "",
        _ratios(row) if groups.times else "",
        ", ".join(factor for _, factor in row.attribution),
    )


def _against_baseline(record: Record, baseline: Mode) -> Table:
    rows: list[tuple[str, ...]] = []
    for workload in against(record, baseline):
        rows += [(workload.name, "", workload.reason)] if workload.reason else []
        rows += [
            (
                "" if place else workload.name,
                str(mode),
                f"withheld: {row.withheld}" if row.withheld else ratio_cell(row),
            )
            for place, (mode, row) in enumerate(workload.rows)
        ]
    return Table(columns("workload", "mode", f"time vs {baseline}"), rows, most_on_console=len(rows))


_MOST_DISAGREEMENTS = 4
"""Leaves of a workload in which TensorFlow's own modes disagree: a model has hundreds of gradients."""


def _ratios(row: OverviewRow) -> str:
    if row.programs is not None:
        return _ratio(row.programs)
    return f"{_ratio(row.ratio)}; tuned: {_ratio(row.tuned)}" if row.tuned else _ratio(row.ratio)


def _ratio(row: RatioRow | None) -> str:
    if row is None:
        return "not timed"
    other = row.pair.right if row.pair else row.name
    return f"withheld ({other})" if row.withheld else f"{row.ratio} {row.interval} {row.verdict} ({other})"


def _lines(record: Record) -> Iterator[Text]:
    for name, workload in record.workloads.items():
        for gate in verdicts.gates(workload):
            if gate.verdict == FAIL or (gate.verdict == verdicts.NOT_JUDGED and verdicts.is_judged(workload)):
                yield Text.assemble(_word(gate.verdict), " ", _single(gate.message))
        for sentence in verdicts.places(workload):
            yield Text.assemble(("place", "cyan"), " ", _single(f"{name}: {sentence}"))
        for failure in verdicts.failures(workload):
            yield Text.assemble(("missing", "yellow"), " ", _single(f"{name}: {failure.line}"))
        disagreements = verdicts.disagreements(workload)
        for sentence in disagreements[:_MOST_DISAGREEMENTS]:
            yield Text.assemble(("tensorflow", "cyan"), " ", _single(sentence))
        if len(disagreements) > _MOST_DISAGREEMENTS:
            more = (
                f"{name}: and so in {len(disagreements) - _MOST_DISAGREEMENTS} more leaves: the report has all of them"
            )
            yield Text.assemble(("tensorflow", "cyan"), " ", more)
        for sentence in narrow_arithmetic.in_words(workload):
            yield Text.assemble(("computes", "cyan"), " ", _single(f"{name}: {sentence}"))
        for device, target in workload.targets.items():
            yield Text.assemble(("target", "cyan"), " ", _single(f"{name}: {target_rows.sentence(device, target)}"))
        if other_pass(workload):
            pass_note = f"{name}: programs and times are those of the {other_pass(workload)}; parity judges every pass"
            yield Text.assemble(("note", "yellow"), " ", _single(pass_note))
    for note, names in _notes(record).items():
        yield Text.assemble(("note", "yellow"), " ", f"{list_first(names, 3)}: {_single(note)}")
    for sentence in node_rows.sentences(record):
        yield Text.assemble(("node", "cyan"), " ", _single(sentence))
    if record.omissions:
        yield Text.assemble(("note", "yellow"), " ", _single(f"not measured: {'; '.join(record.omissions)}"))


def _notes(record: Record) -> dict[str, list[str]]:
    """Notes that qualify a verdict that holds, with the workloads that have them."""
    by_note: dict[str, list[str]] = {}
    for name, workload in record.workloads.items():
        for gate in verdicts.gates(workload):
            if gate.verdict == PASS and gate.reason:
                by_note.setdefault(gate.reason, []).append(name)
    return by_note


def _word(verdict: str) -> Text:
    return Text(WORDS.get(verdict, verdict), style=STYLES.get(verdict, ""))


def _single(message: str) -> str:
    """One line: a traceback in a reason must not look like several."""
    return " ".join(message.split())
