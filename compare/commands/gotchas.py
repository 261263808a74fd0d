"""`jaxport lookup gotchas`: what TensorFlow and JAX do differently under names that look alike."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table as Grid
from rich.text import Text

from compare.commands import _arguments
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._parser import Help
from compare.gotchas import expressions, searching, trying
from compare.progress import reporter
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import terminal
from compare.report.page_console import print_rows
from compare.report.pages import Cell, Table, columns
from workloads.gotchas import _catalogue
from workloads.gotchas._catalogue import Entry
from workloads.gotchas._gotcha import JAX, TENSORFLOW

HELP = Help(
    description="""\
Look up what TensorFlow and JAX do differently under names that look alike: the TensorFlow expression, the port that one
would write first, the right port, and why. Few matches are shown with their code, more as a list, very many by theme.

--run judges both ports of every match by the gates: the first one has to fail, and the right one has to pass.
""",
    operands="[WORD ...]",
    examples="""\
  jaxport lookup gotchas                     all of them, by theme
  jaxport lookup gotchas gelu                one entry, with its code
  jaxport lookup gotchas keras.layers.GRU    everything that concerns a layer
  jaxport lookup gotchas optimizers --run    judge a whole theme
  jaxport lookup gotchas --json | jq .counts
""",
    holds="entries were found; with --run, each came out as it says",
    fails="with --run: an entry did not come out as it says",
)

_IN_FULL = 6
"""Matches up to which each is shown with its code."""

_LISTED = 60
"""Matches up to which each has its line; of more, themes are counted."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("words", nargs="*", metavar="WORD", help="an identifier, a theme, an operation, or any word")
    command.add_argument("--run", action="store_true", help="judge the ports of every match by the gates")
    _arguments.add_timeout(command)
    _arguments.add_json(command.add_argument_group("output"))


def main(options: argparse.Namespace) -> Conclusion | None:
    """Search, try if asked to, print; the verdict on what was tried."""
    entries = searching.matching(_catalogue.entries(), options.words)
    trials: list[trying.Trial] = []
    if options.run:
        with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
            trials = trying.try_all(entries, progress, options.timeout)
    terminal.print_answer(record(entries, trials), options.json, lambda console: show(entries, trials, console))
    return conclude(trials) if options.run else None


def conclude(trials: Sequence[trying.Trial]) -> Conclusion:
    """The verdict on entries that were tried: a port that the gates do not judge says nothing of its entry."""
    other = [trial for trial in trials if not trial.holds]
    contradictions = [trial.entry.id for trial in other if trial.is_judged]
    if contradictions:
        return Conclusion(
            FAIL, f"{len(contradictions)} of {len(trials)} came out otherwise than said: {list_names(contradictions)}"
        )
    if other or not trials:
        return Conclusion(NOT_JUDGED, f"{len(other)} of {len(trials)}: {list_names(trial.entry.id for trial in other)}")
    return Conclusion(PASS, f"{len(trials)} of {len(trials)} came out as said")


def record(entries: Sequence[Entry], trials: Sequence[trying.Trial]) -> dict[str, Any]:
    """The output of --json: counts, then every entry with its code and the verdicts on its ports, if judged."""
    trials_by_id = {trial.entry.id: trial for trial in trials}
    return {
        "schema": SCHEMA,
        "counts": counts(entries, trials),
        "gotchas": [_plain_entry(entry) | _plain_trial(trials_by_id.get(entry.id)) for entry in entries],
    }


def counts(entries: Sequence[Entry], trials: Sequence[trying.Trial]) -> dict[str, int]:
    """How many entries differ and how many agree; of those tried, how many ports are fixed, and bit-equal."""
    totals = {
        "differ": sum(not entry.gotcha.is_control for entry in entries),
        "agree": sum(entry.gotcha.is_control for entry in entries),
    }
    if not trials:
        return totals
    return totals | {
        "fixed": sum(trial.holds and trial.naive is not None for trial in trials),
        "bit_equal": sum(trial.right.bit_equal for trial in trials),
        "not_as_said": sum(not trial.holds for trial in trials),
    }


def _plain_entry(entry: Entry) -> dict[str, Any]:
    code = expressions.code_of(entry)
    return {
        "id": entry.id,
        "why": entry.gotcha.why,
        "concerns": entry.gotcha.concerns,
        "fails": entry.gotcha.fails or None,
        "source": entry.gotcha.source,
        "tensorflow": code.tensorflow,
        "naive": code.naive or None,
        "jax": code.jax,
        "shared": {side: expressions.shared_source(side, [entry]) for side in (TENSORFLOW, JAX)},
    }


def _plain_trial(trial: trying.Trial | None) -> dict[str, Any]:
    return {} if trial is None else {"holds": trial.holds, "naive_port": trial.naive, "right_port": trial.right}


def show(entries: Sequence[Entry], trials: Sequence[trying.Trial], console: Console) -> None:
    """Print entries, the fewer the fuller, then how they came out."""
    if len(entries) <= _IN_FULL:
        for entry in entries:
            console.print(Text(entry.id, style="bold"), Padding(_in_full(entry), (0, 0, 1, 2)), sep="\n")
    elif not trials:
        print_rows(_by_theme(entries) if len(entries) > _LISTED else _entry_table(entries), console)
    if trials:
        print_rows(_outcomes(trials), console)
        for trial in trials:
            for attempt in (trial.naive, trial.right):
                if attempt and attempt.message and not trial.holds:
                    console.print(Text(f"{trial.entry.id}: {attempt.message}"), soft_wrap=True)
    console.print(", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts(entries, trials).items()))


def _in_full(entry: Entry) -> Grid:
    code = expressions.code_of(entry)
    table = Grid.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("why", terminal.cell(entry.gotcha.why))
    table.add_row("concerns", terminal.cell(", ".join(entry.gotcha.concerns)))
    table.add_row("TensorFlow", _python(code.tensorflow))
    if code.naive:
        table.add_row("naive port", _python(code.naive))
        table.add_row("", Text(f"fails the {entry.gotcha.fails} gate", style="red"))
    table.add_row("right port", _python(code.jax))
    for title, side in (("tf helpers", TENSORFLOW), ("jax helpers", JAX)):
        helpers = expressions.shared_source(side, [entry])
        if helpers:
            table.add_row(title, _python(helpers))
    return table


def _python(text: str) -> RenderableType:
    return Syntax(text, "python", theme="ansi_dark", background_color="default", word_wrap=True)


def _by_theme(entries: Sequence[Entry]) -> Table:
    rows: list[tuple[str, ...]] = []
    for theme in dict.fromkeys(entry.theme for entry in entries):
        of_theme = [entry for entry in entries if entry.theme == theme]
        numbers = counts(of_theme, [])
        names = ", ".join(entry.gotcha.name for entry in of_theme if not entry.gotcha.is_control)
        rows.append((theme, str(numbers["differ"]), str(numbers["agree"]), names))
    return Table(columns("theme", "differ", "agree", "gotchas"), rows)


def _entry_table(entries: Sequence[Entry]) -> Table:
    outcomes = (f"fails {entry.gotcha.fails}" if entry.gotcha.fails else "agrees" for entry in entries)
    rows = [(entry.id, outcome, entry.gotcha.why) for entry, outcome in zip(entries, outcomes, strict=True)]
    return Table(columns("gotcha", "naive port", "what differs"), rows, most_on_console=len(rows))


def _outcomes(trials: Sequence[trying.Trial]) -> Table:
    rows = list(map(_trial_row, trials))
    titles = columns("gotcha", "as it says", "naive port", "right port", "bit-equal")
    return Table(titles, rows, most_on_console=len(rows))


def _trial_row(trial: trying.Trial) -> tuple[Cell, ...]:
    naive = _outcome(trial.naive) if trial.naive else "-"
    exact = "yes" if trial.right.bit_equal else "no"
    texts = (trial.entry.id, "yes" if trial.holds else "NO", naive, _outcome(trial.right), exact)
    return tuple(Cell(text, "" if trial.holds else "fail") for text in texts)


def _outcome(attempt: trying.Attempt) -> str:
    if not attempt.verdict:
        return f"not judged: {attempt.message}"
    return f"fails {attempt.gate}" if attempt.gate else "passes"
