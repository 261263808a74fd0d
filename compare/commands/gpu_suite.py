"""`jaxport bench gpu-suite`: what a GPU shows in a few minutes, beside TensorFlow sides that were recorded before."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from compare.commands import _arguments, _option_types
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.commands._signals import hold_signals
from compare.figures import kept_rows
from compare.figures.gpu_runs import (
    GATES_FIGURE,
    GPU_FIGURES,
    MOST_CARRIED,
    TASKS,
    Session,
    describe_device,
    find_open,
    record_sides,
    run_suite,
)
from compare.progress import reporter
from compare.record import results_file
from compare.record.figure_part import MeasuredRow
from compare.record.vocabulary import FAIL, PASS
from compare.report import numbers, terminal
from compare.report.figure_tables import figure_text
from compare.report.page_console import print_rows
from compare.report.pages import Table, columns
from compare.report.results_page import page
from compare.report.verdicts import INCOMPLETE
from compare.sides.pool import Source
from compare.sides.sources import require_device
from compare.writing import write_atomically
from workloads.core.device import GPU, Device

DEFAULT_RECORDINGS = Path(".jaxport/gpu-recordings")
DEFAULT_OUT = Path("jaxport-gpu")

HELP = Help(
    description=f"""\
Run what a GPU can show while it is there: for each built-in workload parity, kernels and times, beside a TensorFlow
side that was recorded on a machine without one. The most useful runs come first. Each is kept in -o as soon as it ends;
the same command continues where the time was over, or where the machine was taken away.

Make the recordings first, with --record, on a machine with TensorFlow. They lie in folders 1, 2, ... of at most
{MOST_CARRIED >> 20} MiB, the most useful in the first; a run whose recording is not there is left for later.
""",
    operands="[-o DIR]",
    examples="""\
  jaxport bench gpu-suite --record               on a machine with TensorFlow: .jaxport/gpu-recordings
  jaxport bench gpu-suite --minutes 9            on the machine with the GPU
  jaxport bench gpu-suite --minutes 9            once more: the runs that are left
  jaxport bench gpu-suite --records docs/results/figures    also put the figures beside those of `lookup figures`
  jaxport bench gpu-suite --device cpu --record  a rehearsal without a GPU, with --device cpu in the run too
""",
    holds="every run of the suite is kept, and parity holds in each",
    fails="a run is left or failed, or a gate of parity does not hold",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "--minutes", type=_option_types.minutes, default=9.0, metavar="M",
        help="minutes that the command may take; it ends before (default: %(default)g)",
    )  # fmt: skip
    command.add_argument(
        "--recordings", type=Path, default=DEFAULT_RECORDINGS, metavar="DIR",
        help="folder of recorded TensorFlow sides (default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--record", action="store_true", help="make the recordings that are missing, and run nothing on the device"
    )
    command.add_argument(
        "--device", type=_option_types.device, default=(GPU, 0), metavar="cpu|gpu[:N]",
        help="device to run on (default: gpu)",
    )  # fmt: skip
    output = command.add_argument_group("output")
    _arguments.add_out_folder(output, DEFAULT_OUT)
    output.add_argument(
        "--records", type=Path, metavar="DIR", help="also keep the figures in this folder of `lookup figures`"
    )


def main(options: argparse.Namespace) -> Conclusion:
    """Record sides, or run the suite and write its page; whether all of it is there."""
    end = time.monotonic() + 60 * options.minutes
    kind, number = options.device
    out = writable_folder(options.recordings if options.record else options.out)
    out.mkdir(parents=True, exist_ok=True)
    if options.records is not None:
        writable_folder(options.records)
    if not options.record:
        require_device({"jax": Source(None, device=Device(kind, number))}, 60 * options.minutes)
    with reporter(terminal.console(stderr=True), quiet=False) as progress:
        device = f"{kind}:{number}" if number else kind
        session = Session(out.resolve(), options.recordings.resolve(), device, end, progress)
        if options.record:
            return conclude_recordings(record_sides(TASKS, session, kind))
        row = run_suite(TASKS, session)
    with hold_signals():
        _write(row, out, options.records)
    print_rows(_table(row), terminal.console())
    return conclude(row)


def _write(row: MeasuredRow, out: Path, records: Path | None) -> None:
    records_here = [out / task.name / "results.json" for task in TASKS if task not in find_open(TASKS, row)]
    if records_here:
        write_atomically(out / f"{GPU_FIGURES}.md", page(*map(results_file.load, records_here)))
    if records is not None:
        kept_rows.keep(row, records)


def _table(row: MeasuredRow) -> Table:
    rows = [
        (experiment.task, figure.name, figure.reason or figure_text(figure))
        for experiment in row.experiments
        for figure in experiment.figures
    ]
    rows += [(experiment.task, "", experiment.reason) for experiment in row.experiments if experiment.reason]
    return Table(columns("run", "figure", describe_device(row.environment)), rows)


def conclude(row: MeasuredRow) -> Conclusion:
    """Whether every run is kept, with parity."""
    figures = [(one.task, figure) for one in row.experiments for figure in one.figures]
    failures = [task for task, figure in figures if figure.name == GATES_FIGURE and figure.reason]
    if failures:
        return Conclusion(FAIL, f"parity does not hold in {list_names(failures)}")
    open_runs = [task.name for task in find_open(TASKS, row)]
    runs = numbers.count_of(len(TASKS), "run")
    if open_runs:
        return Conclusion(
            INCOMPLETE, f"{len(TASKS) - len(open_runs)} of {runs} are kept; run this again for the others"
        )
    return Conclusion(PASS, f"{runs} are kept, and parity holds in each")


def conclude_recordings(missing: list[str]) -> Conclusion:
    """Whether every side is recorded.

    Args:
      missing: the reason for each that is not.
    """
    if missing:
        return Conclusion(INCOMPLETE, f"{len(missing)} of {len(TASKS)} recordings are missing: {missing[0]}")
    return Conclusion(PASS, f"{numbers.count_of(len(TASKS), 'recording')} are there")
