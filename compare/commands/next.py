"""`jaxport next`: which rung of a port fails first, and what to look at."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path

from compare.api import ladders
from compare.commands import _arguments, _asked
from compare.commands._conclusion import Conclusion
from compare.commands._option_types import count
from compare.commands._parser import Help
from compare.inputs import port_files
from compare.inputs.request import Plan, Request
from compare.ladder import climbing
from compare.progress import reporter
from compare.record.envelope import SCHEMA
from compare.record.rung_part import Ladder
from compare.report import terminal
from compare.report.rung_tables import print_ladder
from compare.sides._side import SIDES
from compare.sides.remembering import RememberingPool

HELP = Help(
    description="""\
Say which rung of a port fails first, and what to look at. The rungs: structure (both halves load and return arrays of
the same names, shapes and dtypes), weights (each is used once, and lies in its layer), forward (layer by layer),
gradients, optimizer (one update), trajectory (several steps) and speed. Rungs above one that fails are skipped.

The gates of `jaxport run` judge. Layers of a Keras model are compared with the Flax modules of their names, also on the
inputs that TensorFlow's layers were given: this tells a layer that is wrong from one that only gets wrong inputs.

PORT is a port file, the name of a workload, or a folder that `jaxport init` wrote.
""",
    operands="PORT",
    examples="""\
  jaxport next my_port.py
  jaxport next my_port                               the folder of `jaxport init`
  jaxport next my_port.py --no-speed --no-locate
  jaxport next my_port.py --json | jq '.fails, .rungs[].layers.first'
""",
    holds="every rung holds, however slow the port",
    fails="a rung fails, or is not judged",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("port", metavar="PORT", help="a port file, a workload, or a folder that `jaxport init` wrote")
    _arguments.add_size_and_data(command)
    scope = command.add_argument_group("scope")
    scope.add_argument("--no-speed", action="store_true", help="leave out the last rung: time nothing")
    scope.add_argument(
        "--no-locate", action="store_true", help="do not hold the programs of a pass that fails against each other"
    )
    scope.add_argument(
        "--pairs", type=count, default=Plan.pairs, metavar="N",
        help="pairs of fresh processes that time the port (default: %(default)s)",
    )  # fmt: skip
    _arguments.add_workers(command)
    _arguments.add_json(command.add_argument_group("output"))


def main(options: argparse.Namespace) -> Conclusion:
    """Climb, print; the verdict."""
    reference = ladders.port_of(options.port)
    request = Request(
        workloads=[port_files.get(reference)],
        size=options.size,
        data=options.data,
        sources=_asked.sources(options),
        timeout_s=options.timeout,
        plans=(),
        modes=climbing.MODES,
    )
    pairs = 0 if options.no_speed else options.pairs
    choice = climbing.Choice(request, reference, not options.no_locate, pairs)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        pool = stack.enter_context(RememberingPool(dict(request.sources), scratch, options.timeout, SIDES))
        ladder = climbing.climb(pool, choice, scratch, progress)
    plain = {"schema": SCHEMA, "ladder": ladder}
    terminal.print_answer(plain, options.json, lambda console: print_ladder(ladder, console))
    return conclude(ladder)


def conclude(ladder: Ladder) -> Conclusion:
    """The verdict on a port: which rung fails, or is not judged."""
    return Conclusion(*ladders.conclude(ladder))
