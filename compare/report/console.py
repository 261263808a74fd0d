"""The overview on a terminal, and as plain text everywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare.record.envelope import Record
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from compare.report import narrow_arithmetic, node_rows, target_rows, verdicts
from compare.report.baselines import against
from compare.report.overviews import OverviewRow, find_columns, overview
from compare.report.showable import on_lines
from compare.report.tables import RatioRow, other_pass
from compare.report.terminal import print_table
from compare.report.verdicts import STYLES, WORDS
from workloads._modes import Mode

_NUMBERS = ("instructions\ntf / jax", "kernels tf/eager\n→ tf/jit → jax/jit")
_RATIO = "time of jax/jit\nvs fastest TF mode"
_ATTRIBUTION = "jax/jit vs tf/jit: frontend,\ncompiler, runtime"
_COLUMNS = ("workload", "size", "parity", "gates that do not pass", *_NUMBERS, _RATIO, _ATTRIBUTION)
_NARROW_COLUMNS = ("workload", "parity", "gates that do not pass", _RATIO)
"""What a terminal of 80 columns has room for; the report has the rest."""


def print_overview(record: Record, console: Console, baseline: Mode | None = None) -> None:
    """The table of workloads, a line for each failing gate and each missing result; the command adds the verdict.

    Args:
      record: of a run.
      console: where it is printed.
      baseline: a mode that every other one's time is held against, in a table of its own.
    """
    lines = on_lines(record)
    has_rules = console.is_terminal
    rows = overview(lines)
    print_table(console, _table(rows, has_rules, _COLUMNS), lambda: _table(rows, has_rules, _NARROW_COLUMNS))
    if baseline is not None:
        console.print()
        print_table(console, _baseline_table(lines, baseline, has_rules))
    for line in _lines(lines):
        console.print(line, soft_wrap=True)


def _table(rows: Sequence[OverviewRow], has_rules: bool, columns: Sequence[str]) -> Table:
    """The rows, without the columns that are empty in all of them."""
    groups = find_columns(rows)
    instructions, kernels = _NUMBERS
    is_shown = {
        instructions: groups.instructions,
        kernels: groups.kernels,
        _RATIO: groups.times,
        _ATTRIBUTION: groups.attribution,
    }
    titles = [title for title in columns if is_shown.get(title, True)]
    table = Table(box=box.SIMPLE_HEAD if has_rules else None, pad_edge=False)
    for title in titles:
        table.add_column(title, justify="right" if title in _NUMBERS else "left")
    for cells in map(_cells, rows):
        table.add_row(*(cells[title] for title in titles))
    return table


def _baseline_table(record: Record, baseline: Mode, has_rules: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD if has_rules else None, pad_edge=False)
    for title in ("workload", "mode", f"time vs {baseline}"):
        table.add_column(title)
    for workload in against(record, baseline):
        if workload.reason:
            table.add_row(Text(workload.name), "", Text(workload.reason))
        for place, (mode, row) in enumerate(workload.rows):
            reason = row.withheld and f"withheld: {row.withheld}"
            table.add_row(
                Text("" if place else workload.name),
                Text(str(mode)),
                Text(reason or f"{row.ratio} {row.interval} {row.verdict}"),
            )
    return table


def _cells(row: OverviewRow) -> dict[str, Text]:
    # Text, not str: a name such as "[red]" is no markup.
    texts = (
        Text(row.name),
        Text(row.size),
        _word(row.verdict),
        _gates(row),
        Text(" / ".join(row.instructions)),
        Text(" → ".join(row.kernels)),
        Text(_ratios(row)),
        Text(", ".join(factor for _, factor in row.attribution)),
    )
    return dict(zip(_COLUMNS, texts, strict=True))


_MOST_DISAGREEMENTS = 4
"""Leaves of a workload in which TensorFlow's own modes disagree: a model has hundreds of gradients."""


def _gates(row: OverviewRow) -> Text:
    others = [(name, verdict) for name, verdict in row.gates.items() if verdict not in (PASS, NOT_APPLICABLE)]
    return Text(", ").join(Text(name, style=STYLES.get(verdict, "")) for name, verdict in others)


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
        yield Text.assemble(("note", "yellow"), " ", f"{_some(names)}: {_single(note)}")
    for sentence in node_rows.sentences(record):
        yield Text.assemble(("node", "cyan"), " ", _single(sentence))
    if record.omissions:
        yield Text.assemble(("note", "yellow"), " ", _single(f"not measured: {'; '.join(record.omissions)}"))


def _notes(record: Record) -> dict[str, list[str]]:
    """What qualifies a verdict that holds, and the workloads that it is said of."""
    by_note: dict[str, list[str]] = {}
    for name, workload in record.workloads.items():
        for gate in verdicts.gates(workload):
            if gate.verdict == PASS and gate.reason:
                by_note.setdefault(gate.reason, []).append(name)
    return by_note


def _some(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _word(verdict: str) -> Text:
    return Text(WORDS.get(verdict, verdict), style=STYLES.get(verdict, ""))


def _single(message: str) -> str:
    """One line: a traceback in a reason must not look like several."""
    return " ".join(message.split())
