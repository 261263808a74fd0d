"""`jaxport report`: the report again, from its record."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare.commands._arguments import DEFAULT_OUT, add_json
from compare.commands._conclusion import Conclusion
from compare.commands._output import conclude, overview_of, writable_folder
from compare.commands._parser import Help
from compare.commands._timing_arguments import add_baseline
from compare.history import store
from compare.record.results_file import decode
from compare.report import benchmark_json, terminal
from compare.report.html import write_report

HELP = Help(
    description="""\
Render report.html and the console overview again from a record; nothing is measured.
""",
    operands="[FILE]",
    examples="""\
  jaxport report
  jaxport report --baseline tf/graph                 with every mode's time over that of TensorFlow's graph mode
  jaxport report old-run/results.json -o old-run
  jaxport report benchmarks.json                     what `pytest --benchmark-json=benchmarks.json` wrote
""",
    holds="every verdict of the record holds",
    fails="a verdict of the record fails or is not judged, or a result is missing",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "record", nargs="?", type=Path, default=DEFAULT_OUT / "results.json", metavar="FILE",
        help="a results.json, or the JSON of pytest-benchmark (default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "-o", "--out", type=Path, metavar="DIR", help="output folder (default: the folder of the record)"
    )
    add_baseline(command)
    add_json(command)


def main(options: argparse.Namespace) -> Conclusion:
    """Read the record, render, print; the verdict."""
    path = store.results_of(options.record)
    plain = benchmark_json.load(path)
    record = decode(plain, path)
    if options.json:
        terminal.print_json(plain)
        return conclude(record)
    overview = overview_of(record, options.baseline)
    report = write_report(record, writable_folder(options.out or path.parent))
    terminal.write(overview)
    terminal.say(report)
    return conclude(record)
