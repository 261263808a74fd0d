"""`jaxport crossing`: from which size on compiling wins."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from compare.commands import _arguments, _asked, _option_types, _timing_arguments
from compare.commands._conclusion import Conclusion
from compare.commands._parser import Help
from compare.commands._size_surveys import Survey, find_workloads
from compare.crossings import size_series, timing_series
from compare.crossings.size_series import Series
from compare.inputs.request import Plan
from compare.report import crossing_page
from workloads._small_operations import OPERATIONS

DEFAULT_OUT = Path("jaxport-crossing")

HELP = Help(
    description="""\
Time a function over a series of sizes in TensorFlow's graph mode, compiled by jit_compile=True and compiled by jax.jit,
and find the size above which compiled code is faster: where the interval of the ratio passes 1. Parity is judged at
every size first. All sizes are timed in the same processes; the intervals of one ratio are simultaneous over all sizes.

Without a name, every small operation and block is timed, library calls among them, over powers of 4: a quarter of an
hour. Of your own port, --size names a dimension and its sizes. Run it on a quiet machine.
""",
    operands="[OPERATION|WORKLOAD ...]",
    examples="""\
  jaxport crossing                                          every operation and block
  jaxport crossing softmax matmul --size elements=64,4096,262144
  jaxport crossing my_port.py --size n=16,64,256
  jaxport crossing --tf my_tf.py:f --jax my_jax.py:g --input x=f32[n,128] --size n=1,8,64
  jaxport crossing my_port.py --size n=16,64,256 --pairs 16 --budget 1    narrower intervals
""",
    holds="parity holds at every size, wherever compiling wins",
    fails="parity fails at a size, or a side failed to deliver a result",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "workloads", nargs="*", metavar="OPERATION|WORKLOAD",
        help=f"{', '.join(OPERATIONS)}; a workload (see `jaxport list`) or a port file (default: every operation)",
    )  # fmt: skip
    sizes = command.add_argument_group("sizes")
    sizes.add_argument(
        "--size", metavar="NAME=N,N,...",
        help="a dimension of all that is timed, and its sizes (default: elements=4**3 to 4**9 of operations)",
    )  # fmt: skip
    _arguments.add_functions(command)
    timing = command.add_argument_group("timing")
    _timing_arguments.add_plan(timing, pairs=8, budget=0.5)
    _timing_arguments.add_threads(timing)
    _arguments.add_workers(command, with_recorded=False)
    _arguments.add_output(command, DEFAULT_OUT)


def main(options: argparse.Namespace) -> Conclusion:
    """Judge, time, write, print; the verdict.

    Raises:
      RequestError: a function has no such dimension, or sizes are needed and were not given.
    """
    survey = Survey(timing_series.survey, "crossing.json", crossing_page.page)
    return survey.run(options, lambda: _series(options), lambda: _plan(options))


def _plan(options: argparse.Namespace) -> Plan:
    return _timing_arguments.plan(options, _option_types.thread_counts(options.threads)[0])


def _series(options: argparse.Namespace) -> Sequence[Series]:
    sizes = None if options.size is None else size_series.parse(options.size)
    own = _asked.own_functions(options, options.workloads)
    if own is not None:
        return [size_series.of(own, sizes)]
    if not options.workloads:
        return size_series.of_operations(sizes)
    return [size_series.of(workload, sizes) for workload in find_workloads(options.workloads, OPERATIONS)]
