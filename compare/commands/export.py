"""`jaxport export`: a port as what runs where neither JAX nor its code is."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from compare import leftovers
from compare.bundles import exporting, gathering
from compare.bundles.exporting import ExecutableSize, Exported
from compare.commands import _arguments, _asked
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._interpreters import interpreters
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.commands._signals import hold_signals
from compare.errors import RequestError
from compare.progress import reporter
from compare.record.vocabulary import PASS
from compare.record.workload_part import Failure
from compare.report import numbers, terminal
from compare.report.verdicts import INCOMPLETE
from compare.sides._side import SideError
from compare.writing import writing

HELP = Help(
    description="""\
Export a port's forward pass in three forms that run without its code: StableHLO with a runner that needs jaxlib and
NumPy only, jax.export's form for JAX, and a SavedModel for TensorFlow.

Weights, the first inputs and their results lie beside them: `python FOLDER/run.py` runs the example and compares.
`sh FOLDER/run_cpp.sh stablehlo` and `saved_model` build programs in C++ that do so without Python at run time (Linux).
Nothing is judged: `jaxport run` says whether the port is right.
""",
    operands="WORKLOAD",
    examples="""\
  jaxport export mnist_mlp --size smoke
  jaxport export my_port.py -o deployed
  python deployed/run.py                             the example, by jaxlib alone
  python deployed/run.py inputs.npz results.npz      other inputs
  sh deployed/run_cpp.sh stablehlo                   in C++, by PJRT's C API
""",
    holds="all three forms were written",
    fails="a side failed to deliver its form; the others were written",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command, is_required=True)
    _arguments.add_workers(command, with_recorded=False, device=False)
    command.add_argument_group("output").add_argument(
        "-o", "--out", type=Path, metavar="FOLDER", help="output folder (default: jaxport-export-WORKLOAD)"
    )


def main(options: argparse.Namespace) -> Conclusion:
    """Export beside the target, move the folder there whole, print its path; whether it is whole."""
    workloads = _asked.workloads(options)
    if len(workloads) != 1:
        raise RequestError(f"expected one workload, found {len(workloads)}: export each by itself")
    out = options.out or Path(f"jaxport-export-{workloads[0].name}")
    if os.path.lexists(out):
        raise RequestError(f"expected a new path for the export, found that {out} exists: remove it or choose --out")
    writable_folder(out.parent)
    pythons = interpreters(options)
    request = gathering.Request(
        workload=workloads[0],
        size=options.size,
        data=options.data,
        pythons=pythons,
        timeout_s=options.timeout,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="jaxport-") as scratch,
        leftovers.folder_beside(out) as beside,
        reporter(terminal.console(stderr=True), quiet=False) as progress,
    ):
        folder = beside / out.name
        folder.mkdir()
        try:
            export = exporting.export(request, folder, Path(scratch), progress)
        except SideError as error:
            raise RequestError(f"expected a program of {workloads[0].name} to export, found {error}") from error
        _deliver(folder, out, export)
    return conclude(out, export.failures)


def conclude(out: Path, failures: Sequence[Failure]) -> Conclusion:
    """Whether every form was written."""
    if failures:
        missing = list_names(f"{failure.side}: {failure.doing}" for failure in failures)
        return Conclusion(INCOMPLETE, f"{out} lacks {missing}")
    return Conclusion(PASS, f"every form was written to {out}")


@hold_signals()
def _deliver(folder: Path, out: Path, export: Exported) -> None:
    """Move the folder there, and say what is in it."""
    with writing(out):
        os.replace(folder, out)
    for failure in export.failures:
        terminal.complain(f"{failure.side}: {failure.doing}: {failure.reason}")
    terminal.say(out, *_sizes(out), *map(_executable, export.executables))


def _sizes(folder: Path) -> Iterator[str]:
    """Each form, with its size."""
    for path in sorted(folder.iterdir()):
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        yield f"  {path.name}: {numbers.binary_bytes(sum(file.stat().st_size for file in files))}"


def _executable(size: ExecutableSize) -> str:
    module, executable = (
        "not known" if count is None else numbers.binary_bytes(count) for count in (size.module, size.executable)
    )
    return f"  compiled by the XLA of {size.side}: optimized module {module}, serialized executable {executable}"
