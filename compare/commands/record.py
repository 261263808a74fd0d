"""`jaxport record`: one side of the workloads in one file, to be replayed elsewhere."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compare.commands import _arguments, _asked
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import keep, or_else, writable_file
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.inputs.at_size import on_pass
from compare.inputs.port_files import prepare_both
from compare.progress import reporter
from compare.prove.collect import unique
from compare.record.vocabulary import PASS
from compare.record.workload_part import Failure
from compare.report import terminal
from compare.report.verdicts import INCOMPLETE
from compare.run import recording_sides
from compare.sides import requests
from compare.sides._side import SIDES, SideError
from compare.sides.client import LiveSide
from compare.sides.pool import Source
from compare.sides.recorded import RecordingSide
from compare.sides.settings import Settings
from compare.sides.sources import check_interpreter, require_device
from compare.sides.workers import WorkerSet, failure_of
from workloads.core.device import CPU, GPU, HIGHEST, Device

HELP = Help(
    description="""\
Record one side's outputs, programs and profiles to a file, to be replayed where its framework is not installed.

With --platform gpu TensorFlow's programs are those that it hands to XLA for a GPU. None is needed here: its outputs are
computed on the CPU.
""",
    operands="--side SIDE -o FILE [WORKLOAD ...]",
    examples="""\
  jaxport record --side tf -o tf.side running_example
  jaxport record --side tf -o tf.side my_port.py
  jaxport run my_port.py --tf-recorded tf.side       on the other machine
  jaxport record --side tf --pass forward -o tf.side my_port.py
  jaxport record --side tf --modes tf/jit -o tf.side my_port.py      smaller; then run with --modes tf/jit too
  jaxport record --side tf --platform gpu -o tf.side my_port.py
  jaxport run my_port.py --tf-recorded tf.side --device gpu
  jaxport record bert --size base --parity-size smoke --side tf -o tf.side     large programs, small arrays
""",
    holds="the recording is complete",
    fails="the side failed to deliver a part; one line each says which",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command)
    scope = command.add_argument_group("scope")
    _arguments.add_pass(scope, "what a run compiles, profiles and times")
    _arguments.add_modes(scope, "record")
    _arguments.add_parity_size(scope)
    worker = command.add_argument_group("worker")
    worker.add_argument(
        "--side", choices=SIDES, required=True, metavar="SIDE", help=f"side to record: {' or '.join(SIDES)}"
    )
    worker.add_argument("--python", metavar="PATH", help="Python interpreter that runs the side (default: this one)")
    _arguments.add_device(worker)
    worker.add_argument(
        "--platform", choices=(CPU, GPU),
        help="with --side tf, the kind of device that programs are lowered for (default: that of --device)",
    )  # fmt: skip
    _arguments.add_timeout(worker)
    command.add_argument_group("output").add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="output file: the recording"
    )


def device(options: argparse.Namespace) -> Device:
    """The device that the side computes on, and what its programs are lowered for.

    Raises:
      RequestError: the side cannot lower for another device than its own.
    """
    kind, _ = options.device
    if options.platform in (None, kind):
        return _asked.device(options)
    if options.side != "tf" or kind != CPU:
        raise RequestError(
            f"expected --side tf on the CPU with --platform {options.platform}, found --side {options.side} on a "
            f"{kind.upper()}: drop --platform"
        )
    return Device(precision=options.matmul_precision or HIGHEST, lowers_for=options.platform)


def main(options: argparse.Namespace) -> Conclusion:
    """Record, write, print what is missing; whether it is whole."""
    writable_file(options.out)
    workloads = _asked.workloads(options)
    check_interpreter(options.python, "--python")
    device_name = device(options)
    require_device({options.side: Source(options.python, device=device_name)}, options.timeout)
    console = terminal.console(stderr=True)
    failures: list[Failure] = []
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        workers = stack.enter_context(
            WorkerSet(
                lambda name: LiveSide(name, scratch, options.python, options.timeout, Settings(device=device_name))
            )
        )
        progress = stack.enter_context(reporter(console, quiet=False))
        side = RecordingSide(workers.get(options.side))
        requests.environment(side)
        for workload in workloads:
            try:
                workers.replace_lost()
                side.follow(workers.get(options.side))
            except SideError as error:
                failures.append(failure_of(error))
                continue
            both = prepare_both(workload, options.size, options.data, scratch, options.parity_size)
            small, large = on_pass(both, options.main_pass)
            failures += recording_sides.record_side(side, small, large, scratch, progress, options.modes)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with or_else(lambda: keep(options.out.name, side.save)):
            side.save(options.out)
    for failure in unique(failures):
        terminal.complain(f"{failure.side}: {failure.doing}: {failure.reason}")
    terminal.say(options.out)
    return conclude(options.out, failures)


def conclude(out: Path, failures: Sequence[Failure]) -> Conclusion:
    """Whether every part of the side was recorded."""
    if failures:
        missing = list_names(f"{failure.side}: {failure.doing}" for failure in unique(failures))
        return Conclusion(INCOMPLETE, f"{out} lacks {missing}")
    return Conclusion(PASS, f"the side is recorded whole in {out}")
