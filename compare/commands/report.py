"""`jaxport report`: the report again, from its record."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare.commands._arguments import DEFAULT_OUT
from compare.commands._output import exit_code, told, writable_folder
from compare.history import store
from compare.record.results_file import decode
from compare.report import benchmark_json, terminal
from compare.report.html import write_report

TEXT = """\
Render report.html and the console overview again from a results.json, or from what
`pytest --benchmark-json` wrote; nothing is measured.

examples:
  jaxport report
  jaxport report old-run/results.json -o old-run
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    command.add_argument(
        "record",
        nargs="?",
        type=Path,
        default=DEFAULT_OUT / "results.json",
        help="a results.json, or pytest-benchmark's JSON (default: %(default)s)",
    )
    command.add_argument("-o", "--out", type=Path, metavar="DIR", help="where to write (default: beside the record)")
    command.add_argument("--json", action="store_true", help="print the record instead")


def main(options: argparse.Namespace) -> int:
    """Read, render, print."""
    path = store.results_of(options.record)
    plain = benchmark_json.load(path)
    code = exit_code(plain)
    if options.json:
        terminal.print_json(plain)
        return code
    record = decode(plain, path)
    overview = told(record)
    report = write_report(record, writable_folder(options.out or path.parent))
    terminal.write(overview)
    terminal.say(report)
    return code
