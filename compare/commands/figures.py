"""`jaxport lookup figures`: the figures of documents on XLA beside ours, and the experiments behind ours."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from compare.commands import _arguments, _option_types
from compare.commands._conclusion import Conclusion
from compare.commands._output import writable_file, writable_folder
from compare.commands._parser import Help
from compare.commands._signals import hold_signals
from compare.errors import RequestError
from compare.figures.all_rows import choose
from compare.figures.gpu_runs import GPU_FIGURES
from compare.figures.holding_figures import judge_rows
from compare.figures.kept_rows import keep, load_row
from compare.figures.row import Row
from compare.figures.running_rows import Running, run_row
from compare.progress import reporter
from compare.record.figure_part import MeasuredExperiment
from compare.record.vocabulary import NOT_JUDGED, PASS
from compare.report import numbers, terminal
from compare.report.figure_tables import page, print_figures
from compare.report.verdicts import INCOMPLETE
from compare.writing import write_atomically

DEFAULT_RECORDS = Path(".jaxport/figures")

_TIMEOUT_S = 1200
"""Seconds that one command of an experiment may take: the largest times arrays of a gigabyte in several processes."""

HELP = Help(
    description="""\
Compare the figures that documents on XLA report with those of this machine, row by row: what the document shows, its
hardware and its figure, ours with its interval, machine and command, and whether they agree. "Same direction" means
another number on the same side of 1, such as faster. A row that cannot be measured here says why.

Nothing is run without --run, which keeps what it measures in --records; the table is made from what is kept there.
""",
    operands="[ROW ...]",
    examples="""\
  jaxport lookup figures                all rows, with what is kept in .jaxport/figures
  jaxport lookup figures S1 S3
  jaxport lookup figures --run S18 S19  run the experiments of two rows, and show them
  jaxport lookup figures --run          of all rows: an hour and more, on a quiet machine
  jaxport lookup figures --records my-figures -o documents.md
  jaxport lookup figures --json | jq '.rows[] | {row, verdicts: [.stated[].verdict]}'
""",
    holds="the rows were shown, whatever their verdicts",
    fails="with --run, an experiment failed",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("rows", nargs="*", metavar="ROW", help="S1, S2, ... (default: all)")
    command.add_argument(
        "--run", action="store_true", help="run the experiments of these rows first, and keep the figures"
    )
    command.add_argument(
        "--records", type=Path, default=DEFAULT_RECORDS, metavar="DIR",
        help="folder of what was measured, a file a row (default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--timeout", type=_option_types.seconds, default=_TIMEOUT_S, metavar="S",
        help="seconds that one command of an experiment may take (default: %(default)s)",
    )  # fmt: skip
    output = command.add_argument_group("output")
    _arguments.add_out_file(output, "the table as a Markdown page")
    _arguments.add_json(output)


def main(options: argparse.Namespace) -> Conclusion | None:
    """Run where that was asked for, hold, print; whether every experiment ran.

    Raises:
      RequestError: there is no such row, or a place cannot be written to.
    """
    rows = choose(options.rows)
    if options.out is not None:
        writable_file(options.out)
    if options.records.exists() and not options.records.is_dir():
        raise RequestError(f"expected a folder at {options.records}, found a file: choose another --records")
    if options.records != DEFAULT_RECORDS and not options.records.exists() and not options.run:
        raise RequestError(f"expected a folder of records at {options.records}, found none: measure them with --run")
    ran = _run(rows, options) if options.run else None
    measurements = {row.name: load_row(row.name, options.records) for row in rows}
    figures = judge_rows(rows, measurements, load_row(GPU_FIGURES, options.records))
    terminal.print_answer(figures, options.json, lambda console: print_figures(figures, console))
    if options.out is not None:
        with hold_signals():
            write_atomically(options.out, page(figures, _command(options)))
    return None if ran is None else conclude(ran)


def conclude(ran: Sequence[MeasuredExperiment]) -> Conclusion:
    """Whether every experiment gave its figures."""
    reasons = [experiment.reason for experiment in ran if experiment.reason]
    experiments = numbers.count_of(len(ran), "experiment")
    if reasons:
        return Conclusion(INCOMPLETE, f"{len(reasons)} of {experiments} failed: {reasons[0]}")
    return Conclusion(PASS, f"{experiments} ran") if ran else Conclusion(NOT_JUDGED, "these rows have no experiment")


def _run(rows: Sequence[Row], options: argparse.Namespace) -> list[MeasuredExperiment]:
    """Run the rows one by one, each kept as soon as it is done; their experiments."""
    writable_folder(options.records)
    ran: list[MeasuredExperiment] = []
    with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
        for row in rows:
            if not row.experiments:
                continue
            measurement = run_row(row, Running(options.timeout, progress))
            keep(measurement, options.records)
            ran += measurement.experiments
    return ran


def _command(options: argparse.Namespace) -> str:
    """The command that writes the page, without paths of this machine."""
    words = ["jaxport", "lookup", "figures", *options.rows]
    words += ["--records", _portable(options.records)] if options.records != DEFAULT_RECORDS else []
    return shlex.join([*words, "-o", _portable(options.out)])


def _portable(path: Path) -> str:
    within = not path.is_absolute() and ".." not in path.parts
    return str(path) if within else path.name
