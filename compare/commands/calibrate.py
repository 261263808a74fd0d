"""`jaxport bench calibrate`: does the harness hold what it promises on this machine?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from compare.bench.calibration import ModeCalibration, calibrate
from compare.commands import _arguments, _asked, _option_types, _timing_arguments
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import writable_file
from compare.commands._parser import Help
from compare.inputs import port_files
from compare.measure.identical_runs import null_runs
from compare.plain_json import write_json
from compare.progress import reporter
from compare.record.vocabulary import FAIL, PASS
from compare.report import terminal
from compare.report.page_console import print_rows
from compare.report.pages import Table, columns
from compare.report.verdicts import INCOMPLETE

HELP = Help(
    description="""\
Check whether this machine can tell times apart: time a workload's compiled modes against themselves (A/A), many times
over. Reports how often the interval contains 1, how wide it is, and how often a planted slowdown of 5 % and 10 % is
detected. One run takes a minute; run it on a quiet machine.

A harness that is exactly as good as promised still misses 3 of 20 intervals in 1 of 14 calibrations.
""",
    operands="[WORKLOAD]",
    examples="""\
  jaxport bench calibrate                          20 runs of the running example
  jaxport bench calibrate mnist_mlp --runs 10 --pairs 8
  jaxport bench calibrate -o calibration.json      keep every interval
""",
    holds="on each side, 9 of 10 intervals contain 1 and 9 of 10 slowdowns of 10 % are detected",
    fails="they do not, or a side failed to deliver a time",
)

DEFAULT = "running_example"

PROMISED = 0.9
"""Fraction of the runs that must cover 1, and that must detect 10 %: 95 % less what 20 runs leave to chance."""

JUDGED = "+10 %"

_LEGEND = """
covers 1: A/A runs whose 95 % interval contains 1; half-width: of these intervals, median and largest
detected: runs that called the planted slowdown slower, and the median of their estimates
smallest: the slowdown detected in 95 of 100 runs, computed from the A/A runs"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "workload", nargs="?", metavar="WORKLOAD", help=f"name of a workload or a port file (default: {DEFAULT})"
    )
    _arguments.add_size(command.add_argument_group("size"))
    _arguments.add_functions(command)
    timing = command.add_argument_group("timing")
    timing.add_argument(
        "--runs", type=_option_types.count, default=20, metavar="N", help="runs to repeat (default: %(default)s)"
    )
    _timing_arguments.add_plan(timing)
    _timing_arguments.add_threads(timing)
    _arguments.add_workers(command, with_recorded=False)
    _arguments.add_out_file(command.add_argument_group("output"), "every run as JSON")


def main(options: argparse.Namespace) -> Conclusion:
    """Run, print, write; the verdict."""
    if options.out is not None:
        writable_file(options.out)
    plan = _timing_arguments.plan(options, _option_types.thread_counts(options.threads)[0])
    own = _asked.own_functions(options, [options.workload] if options.workload else [])
    workload = own or port_files.get(options.workload or DEFAULT)
    with reporter(terminal.console(stderr=True), quiet=False) as progress:
        sources = _asked.sources(options)
        runs, failures = null_runs(workload, options.size, sources, plan, options.runs, options.timeout, progress)
    calibrations = calibrate(runs)
    console = terminal.console()
    print_rows(_table(calibrations), console)
    for line in _LEGEND.splitlines():
        console.print(line, soft_wrap=True)
    for line in dict.fromkeys(f"{failure.side}: {failure.doing}: {failure.reason}" for failure in failures):
        terminal.complain(line)
    if options.out is not None:
        content = {"workload": workload.name, "plan": plan, "modes": calibrations, "failures": failures, "runs": runs}
        write_json(options.out, content)
    return conclude(calibrations, options.runs, len(sources))


def conclude(calibrations: Mapping[str, ModeCalibration], runs: int, sides: int) -> Conclusion:
    """The verdict on the machine.

    Args:
      calibrations: by mode.
    """
    failing = [name for name, mode in calibrations.items() if not _holds(mode)]
    if failing:
        return Conclusion(FAIL, f"this machine does not tell times apart as promised: {list_names(failing)}")
    whole = len(calibrations) == sides and all(mode.runs == runs for mode in calibrations.values())
    if not whole:
        return Conclusion(INCOMPLETE, "a side failed to deliver times")
    return Conclusion(PASS, f"this machine tells times apart as promised: {list_names(calibrations)}")


def _holds(mode: ModeCalibration) -> bool:
    is_detected = mode.called.get(JUDGED, 0) >= PROMISED * mode.planted.get(JUDGED, 0) > 0
    return is_detected and mode.covered >= PROMISED * mode.runs


def _table(calibrations: Mapping[str, ModeCalibration]) -> Table:
    titles = columns("mode", "covers 1", "half-width", "+5 % detected", "+10 % detected", "smallest")
    rows = [
        (
            *(name, f"{mode.covered}/{mode.runs}", f"{mode.half_width:.1%} (≤ {max(mode.half_widths):.1%})"),
            *(_verdict_cell(mode, slowdown) for slowdown in ("+5 %", JUDGED)),
            "none" if mode.smallest is None else f"{mode.smallest:.1%}",
        )
        for name, mode in calibrations.items()
    ]
    return Table(titles, rows)


def _verdict_cell(mode: ModeCalibration, slowdown: str) -> str:
    if slowdown not in mode.called:
        return "not timed"
    return f"{mode.called[slowdown]}/{mode.planted[slowdown]} ({mode.estimates[slowdown] - 1:+.1%})"
