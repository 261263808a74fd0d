"""`jaxport export`: a port as what runs where neither JAX nor its code is."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from compare.bundles import exporting, gathering
from compare.commands import _arguments
from compare.commands._exit_codes import FAILS, HOLDS
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.progress import reporter
from compare.report import terminal
from compare.sides._side import SIDES, SideError
from compare.sides.sources import check_interpreter
from compare.writing import writing

HELP = Help(
    description="""\
Export a port's forward pass in three forms that run without its code: StableHLO with a runner that needs jaxlib and
NumPy only, jax.export's form for JAX, and a SavedModel for TensorFlow, with or without Python.

Weights, the first inputs and their results lie beside them: `python FOLDER/run.py` runs the example and compares.
Nothing is judged: `jaxport run` says whether the port is right.
""",
    operands="WORKLOAD",
    examples="""\
  jaxport export mnist_mlp --size smoke
  jaxport export my_port.py -o deployed
  python deployed/run.py                             the example, by jaxlib alone
  python deployed/run.py inputs.npz results.npz      other inputs
""",
    holds="all three forms were written",
    fails="a side failed to deliver its form; the others were written",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command, required=True)
    _arguments.add_workers(command, recorded=False, device=False)
    command.add_argument_group("output").add_argument(
        "-o", "--out", type=Path, metavar="FOLDER", help="output folder (default: jaxport-export-WORKLOAD)"
    )


def main(options: argparse.Namespace) -> int:
    """Export beside the target, move the folder there whole, print its path; the exit code."""
    chosen = _arguments.workloads(options)
    if len(chosen) != 1:
        raise RequestError(f"expected one workload, found {len(chosen)}: export each by itself")
    out = options.out or Path(f"jaxport-export-{chosen[0].name}")
    if os.path.lexists(out):
        raise RequestError(f"expected a new path for the export, found that {out} exists: remove it or choose --out")
    writable_folder(out.parent)
    for side in SIDES:
        check_interpreter(getattr(options, f"{side}_python"), f"--{side}-python")
    asked = gathering.Request(
        workload=chosen[0],
        size=options.size,
        data=options.data,
        pythons={side: getattr(options, f"{side}_python") for side in SIDES},
        timeout_s=options.timeout,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="jaxport-") as scratch,
        tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as beside,
        reporter(terminal.console(stderr=True), quiet=False) as progress,
    ):
        folder = Path(beside) / out.name
        folder.mkdir()
        try:
            failures = exporting.export(asked, folder, Path(scratch), progress)
        except SideError as error:
            raise RequestError(f"expected a program of {chosen[0].name} to export, found {error}") from error
        with writing(out):
            os.replace(folder, out)
    for failure in failures:
        terminal.complain(f"{failure.side}: {failure.doing}: {failure.reason}")
    terminal.say(out)
    return FAILS if failures else HOLDS
