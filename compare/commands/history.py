"""`jaxport history`: every saved run on one chart, and what recurs in the last two."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare.commands._arguments import DEFAULT_HISTORY, add_json
from compare.commands._conclusion import Conclusion
from compare.commands._output import writable_file
from compare.commands._parser import Help
from compare.commands.compare import tell
from compare.history import series, store
from compare.history.moves import recurring_all
from compare.report import page_html, terminal, trend

HELP = Help(
    description="""\
Plot the saved runs and check the last two for regressions: every ratio with its interval, on one page. A regression is
confirmed when the last two runs both regressed. Where machine or versions changed, the line breaks and says so.
""",
    operands="[DIR]",
    examples="""\
  jaxport history
  jaxport history -o trend.html --json
""",
    holds="no regression is confirmed",
    fails="a regression is confirmed, or no ratio could be compared, as before the third run",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "history", nargs="?", type=Path, default=DEFAULT_HISTORY, metavar="DIR",
        help="folder of saved runs (default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="output file: the page (default: DIR/trend.html)"
    )
    add_json(command, "the changes")


def main(options: argparse.Namespace) -> Conclusion:
    """Read every run, plot, check for regressions; the verdict."""
    history = {run.number: store.load(run.path) for run in store.runs(options.history)}
    changes, trends = recurring_all(list(history.values())), series.trend(history)
    out = options.out or options.history / "trend.html"
    writable_file(out)
    page = page_html.write_page(trend.page(trends), out)
    conclusion = tell(changes, options.json)
    if not options.json:
        terminal.say(page)
    return conclusion
