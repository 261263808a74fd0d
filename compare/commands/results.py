"""`jaxport report markdown`: records as a page of documentation."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare.commands._arguments import DEFAULT_OUT, add_history
from compare.commands._output import writable_file
from compare.commands._parser import Help
from compare.history import store
from compare.record import results_file
from compare.report import terminal
from compare.report.results_page import page
from compare.writing import write_atomically

HELP = Help(
    description="""\
Write the times of records as a Markdown page: machine and versions, what is faster and what is not, every table.
Several records make one page. Nothing is measured, and nothing is claimed without a verdict.
""",
    operands="[RUN ...] -o FILE",
    examples="""\
  jaxport report markdown -o times.md
  jaxport report markdown last -o times.md           the last saved run
  jaxport report markdown 4 5 6 -o times.md          three saved runs on one page
""",
    holds="the page was written",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "records", nargs="*", default=[str(DEFAULT_OUT / "results.json")], metavar="RUN",
        help="a results.json, the folder of a report, or a saved run as in `jaxport history compare` "
        f"(default: {DEFAULT_OUT})",
    )  # fmt: skip
    add_history(command)
    command.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="output file: the Markdown page")


def main(options: argparse.Namespace) -> None:
    """Read the records, write the page."""
    paths = [store.find(reference, options.history) for reference in options.records]
    text = page(*map(results_file.load, paths))
    writable_file(options.out)
    write_atomically(options.out, text)
    terminal.say(options.out)
