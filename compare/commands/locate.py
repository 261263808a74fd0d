"""`jaxport locate`: for a port that fails parity, the operation to blame."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from compare.api import departures
from compare.commands import _arguments, _asked
from compare.commands._conclusion import Conclusion
from compare.commands._parser import Help
from compare.progress import reporter
from compare.prove import locating
from compare.record.envelope import SCHEMA
from compare.report import terminal
from compare.sides.pool import Pool
from workloads.protocol.framework import PASSES

HELP = Help(
    description="""\
Find where a port departs from its original: the first operation of the JAX program whose value differs from
TensorFlow's while everything that it reads agrees. Searches the forward pass, the gradients and the training step, and
names both source lines, both values and the likely cause.

Both programs are promoted to float64 and run on the same arrays, with every intermediate value kept. A departure is
proved by putting TensorFlow's value in its place: then every result agrees.
""",
    operands="[WORKLOAD ...]",
    examples="""\
  jaxport locate my_port.py
  jaxport locate my_port.py --pass gradients
  jaxport locate mnist_mlp --data ~/mnist.npz
  jaxport locate --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128]
  jaxport locate my_port.py --json | jq '.workloads[].forward.departures[].right.source'
""",
    holds="no departure in any pass",
    fails="a departure was found, or a pass could not be searched",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command)
    scope = command.add_argument_group("scope")
    scope.add_argument(
        "--pass", dest="passes", action="append", choices=PASSES, metavar="PASS",
        help=f"search this pass only: {', '.join(PASSES)} (repeatable; default: every pass of the workload)",
    )  # fmt: skip
    _arguments.add_workers(command)
    _arguments.add_json(command.add_argument_group("output"))


def main(options: argparse.Namespace) -> Conclusion:
    """Locate, print; the verdict."""
    workloads = _asked.workloads(options)
    passes = tuple(pass_ for pass_ in PASSES if pass_ in (options.passes or PASSES))
    choice = locating.Choice(passes, options.size, options.data)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        pool = stack.enter_context(Pool(_asked.sources(options), scratch, options.timeout))
        places = locating.locate_each(pool, workloads, choice, scratch, progress)
    plain = {"schema": SCHEMA} | locating.record(places)
    terminal.print_answer(plain, options.json, lambda console: departures.show(places, console))
    return conclude(places)


def conclude(places: Mapping[str, Mapping[str, locating.Located]]) -> Conclusion:
    """The verdict on all passes; a pass that was not searched is no pass that agrees."""
    return Conclusion(*departures.conclude(places))
