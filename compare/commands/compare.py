"""`jaxport compare`: later runs held against an earlier one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from compare import records
from compare.commands._arguments import add_history
from compare.commands._exit_codes import FAILS, HOLDS
from compare.errors import RequestError
from compare.history import moves, store
from compare.history.moves import Recurrence
from compare.report import terminal
from compare.report.changes import print_changes

TEXT = """\
What became of every ratio between runs. The first run is the baseline. A regression is confirmed when every later
run, at least two, regressed: one alone may be chance. Unlike machines, versions, threads or inputs are refused, and
every differing key is named.

A RUN is a number of the history, `last`, `last~1`, a results.json, or the folder of a report.

examples:
  jaxport compare 1 2
  jaxport compare last~2 last~1 last                 confirmed only if both later runs regressed
  jaxport compare old-report new-report newer-report

exit codes: 0 no confirmed regression; 1 a confirmed one; 2 the request cannot be carried out
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    command.add_argument("runs", nargs="+", metavar="RUN", help="the baseline, then one later run or more")
    add_history(command)
    command.add_argument("--json", action="store_true", help="print the changes as JSON instead")


def main(options: argparse.Namespace) -> int:
    """Compare, print."""
    if len(options.runs) < 2:
        raise RequestError("expected two runs or more, found one: name the baseline, then what came later")
    found = moves.compare_all([records.load(store.find(each, options.history)) for each in options.runs])
    return tell(found, options.json)


def tell(found: Sequence[Recurrence], as_json: bool) -> int:
    """Print what became of every ratio; the exit code."""
    if as_json:
        terminal.print_json(found)
    else:
        print_changes(found, terminal.console())
    return FAILS if moves.confirmed(found) else HOLDS
