"""`jaxport results`: records as a page of documentation."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare import records
from compare.commands._arguments import DEFAULT_OUT, add_history
from compare.commands._exit_codes import HOLDS
from compare.commands._output import writable_file
from compare.history import store
from compare.record.results_file import decode
from compare.report import terminal
from compare.report.results_page import page

TEXT = """\
Write what records say of speed as Markdown: the machine and its versions, what is ahead and what is not, and every
table. Several records make one page. Nothing is measured, and nothing is claimed that no verdict holds.

examples:
  jaxport results -o docs/results.md
  jaxport results last -o docs/results.md            the last run of the history
  jaxport results 4 5 6 -o docs/results.md           three runs on one page
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    command.add_argument(
        "records",
        nargs="*",
        default=[str(DEFAULT_OUT / "results.json")],
        metavar="RUN",
        help=f"results.json files, folders of reports, or runs of the history (default: those of {DEFAULT_OUT})",
    )
    add_history(command)
    command.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the page to write")


def main(options: argparse.Namespace) -> int:
    """Read, write."""
    paths = [store.find(reference, options.history) for reference in options.records]
    made = page(*(decode(records.load(path), path) for path in paths))
    writable_file(options.out)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    records.write_atomically(options.out, made)
    terminal.say(options.out)
    return HOLDS
