"""`jaxport compare`: later runs held against an earlier one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from compare.commands._arguments import add_history, add_json
from compare.commands._exit_codes import FAILS, HOLDS
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.history import moves, store
from compare.history.moves import Recurrence
from compare.record.results_file import load_plain
from compare.report import terminal
from compare.report.changes import print_changes

HELP = Help(
    description="""\
Compare saved runs with a baseline: how each ratio changed. The first RUN is the baseline. A regression is confirmed
when every later run, of at least two, regressed: a single one may be chance. Runs on unlike machines, versions, thread
counts or inputs are refused, and every difference is named.

RUN is a number in the history, `last`, `last~1`, a results.json, or the folder of a report.
""",
    operands="BASELINE RUN ...",
    examples="""\
  jaxport compare 1 2
  jaxport compare last~2 last~1 last                 confirmed only if both later runs regressed
  jaxport compare old-report new-report newer-report
""",
    holds="no regression is confirmed",
    fails="a regression is confirmed",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("runs", nargs="+", metavar="RUN", help="the baseline, then one or more later runs")
    add_history(command)
    add_json(command, "the changes")


def main(options: argparse.Namespace) -> int:
    """Compare, print; the exit code."""
    if len(options.runs) < 2:
        raise RequestError("expected two runs or more, found one: name the baseline, then later runs")
    runs = [load_plain(store.find(reference, options.history)) for reference in options.runs]
    return tell(moves.compare_all(runs), options.json)


def tell(changes: Sequence[Recurrence], as_json: bool) -> int:
    """Print how each ratio changed; the exit code."""
    if as_json:
        terminal.print_json(changes)
    else:
        print_changes(changes, terminal.console())
    return FAILS if moves.confirmed(changes) else HOLDS
