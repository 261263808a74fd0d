"""`jaxport history`: every saved run on one chart, and what recurs in the last two."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare import records
from compare.commands._arguments import DEFAULT_HISTORY
from compare.commands._output import writable_file
from compare.commands.compare import tell
from compare.history import store
from compare.history.moves import recurring_all
from compare.history.series import trend
from compare.report import terminal
from compare.report.trend import write_trend

TEXT = """\
Draw every ratio of the saved runs with its interval, and hold the last two runs against those before: a regression
is confirmed when both regressed. Where machine or versions changed, the line breaks and says what differs.

examples:
  jaxport history
  jaxport history -o trend.html --json

exit codes: 0 no confirmed regression; 1 a confirmed one; 2 the request cannot be carried out
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    command.add_argument(
        "history", nargs="?", type=Path, default=DEFAULT_HISTORY, metavar="DIR", help="default: %(default)s"
    )
    command.add_argument("-o", "--out", type=Path, metavar="FILE", help="the page (default: DIR/trend.html)")
    command.add_argument("--json", action="store_true", help="print the changes as JSON instead")


def main(options: argparse.Namespace) -> int:
    """Read every run, draw, judge."""
    history = {run.number: records.load(run.path) for run in store.runs(options.history)}
    found, drawn = recurring_all(list(history.values())), trend(history)
    out = options.out or options.history / "trend.html"
    writable_file(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    page = write_trend(drawn, out)
    code = tell(found, options.json)
    if not options.json:
        terminal.say(page)
    return code
