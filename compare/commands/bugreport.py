"""`jaxport bugreport`: all that another person needs to see what was seen here, in one folder or zip."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from compare import leftovers
from compare.bundles import gathering
from compare.commands import _arguments, _asked
from compare.commands._conclusion import Conclusion
from compare.commands._interpreters import interpreters
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.commands._signals import hold_signals
from compare.errors import RequestError
from compare.progress import reporter
from compare.record.vocabulary import PASS
from compare.report import numbers, terminal
from compare.report.verdicts import INCOMPLETE
from compare.writing import writing

HELP = Help(
    description="""\
Bundle what another person needs to reproduce a workload: both programs, what each side's XLA makes of them, XLA's
dumps, TensorFlow's clustering graphs, inputs, results, versions and flags, and a README that lists the differences and
the commands to replay them.

The bundle holds one size and one pass: the training step, or the forward pass if there is none. With --target it also
holds what JAX's XLA makes of both programs for devices that are not here.
""",
    operands="WORKLOAD",
    examples="""\
  jaxport bugreport running_example --size smoke
  jaxport bugreport my_port.py -o report.zip         one file to attach
  jaxport bugreport my_port.py --target H100         with both programs compiled for a GPU
  jaxport replay jaxport-bugreport-running_example   run its programs again
""",
    holds="the bundle is complete",
    fails="a side failed to deliver a part; the README names it",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command, is_required=True)
    _arguments.add_targets(command)
    _arguments.add_workers(command, with_recorded=False, device=False)
    command.add_argument_group("output").add_argument(
        "-o", "--out", type=Path, metavar="PATH",
        help="output folder, or NAME.zip for one file (default: jaxport-bugreport-WORKLOAD)",
    )  # fmt: skip


def main(options: argparse.Namespace) -> Conclusion:
    """Collect beside the target, move the bundle there whole, print its path; whether it is whole."""
    if not options.workloads and not (options.tf and options.jax):
        raise RequestError("expected one workload, found none: name one (see `jaxport list`)")
    workloads = _asked.workloads(options)
    if len(workloads) != 1:
        raise RequestError(f"expected one workload, found {len(workloads)}: write one bug report for each")
    out = options.out or Path(f"jaxport-bugreport-{workloads[0].name}")
    _check(out)
    pythons = interpreters(options)
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        contextlib.ExitStack() as stack,
        tempfile.TemporaryDirectory(prefix="jaxport-") as scratch,
        leftovers.folder_beside(out) as beside,
        reporter(terminal.console(stderr=True), quiet=False) as progress,
    ):
        request = gathering.Request(
            workload=workloads[0],
            size=options.size,
            data=options.data,
            pythons=pythons,
            timeout_s=options.timeout,
            targets=_asked.targets(options, stack),
        )
        folder = beside / out.stem
        folder.mkdir()
        index = gathering.collect(request, folder, Path(scratch), progress)
        _deliver(_zip(folder) if out.suffix == ".zip" else folder, out)
    return conclude(out, len(index["failures"]))


def conclude(out: Path, missing: int) -> Conclusion:
    """Whether a bundle is whole; its README names the parts that are missing."""
    if missing:
        return Conclusion(INCOMPLETE, f"{numbers.count_of(missing, 'part')} missing in {out}: its README says why")
    return Conclusion(PASS, f"{out} is whole")


def _check(out: Path) -> None:
    """Raise RequestError where the bundle cannot be written, before anything is collected."""
    if os.path.lexists(out):
        raise RequestError(
            f"expected a new path for the bug report, found that {out} exists: remove it or choose another --out"
        )
    writable_folder(out.parent)


def _zip(folder: Path) -> Path:
    with writing(folder):
        return Path(shutil.make_archive(str(folder), "zip", folder.parent, folder.name))


@hold_signals()
def _deliver(bundle: Path, out: Path) -> None:
    with writing(out):
        os.replace(bundle, out)
    terminal.say(out)
