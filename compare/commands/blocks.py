"""`jaxport crossing blocks`: how many layers a compiled function has to have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from compare.commands import _arguments, _option_types, _timing_arguments
from compare.commands._conclusion import Conclusion
from compare.commands._parser import Help
from compare.commands._size_surveys import Survey, find_workloads
from compare.crossings import size_series, timing_blocks
from compare.crossings.size_series import Series
from compare.inputs.request import Plan
from compare.report import block_page
from workloads._layer_chain import CHAINS

DEFAULT_OUT = Path("jaxport-blocks")

HELP = Help(
    description="""\
Run a chain of layers in larger and larger compiled blocks, one layer in each function, then 2, 4, ... and all, in both
frameworks: parity of every size, kernels of a call, times with intervals, and the smallest block beyond which compiling
all layers at once gains less than 5 %. Blocks are called by a TensorFlow graph, and one after the other from Python.

Without a name, two built-in chains are run. Of your own port, both builders take the dimension `block`, the layers in a
compiled function, 0 for none: examples/blocks is such a port. Takes minutes; run it on a quiet machine.
""",
    operands="[CHAIN|WORKLOAD ...]",
    examples="""\
  jaxport crossing blocks                                      both built-in chains
  jaxport crossing blocks my_port.py                           blocks of powers of 2, up to the dimension `layers`
  jaxport crossing blocks my_port.py --blocks 1,3,12 --size paper
  jaxport crossing blocks dense_chain --pairs 16 --budget 1    narrower intervals
""",
    holds="parity holds in blocks of every size, whichever are faster",
    fails="parity fails in blocks of some size, or a side failed to deliver a result",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "workloads", nargs="*", metavar="CHAIN|WORKLOAD",
        help=f"{', '.join(CHAINS)}; or a port file with a dimension `block` (default: both chains)",
    )  # fmt: skip
    scope = command.add_argument_group("scope")
    scope.add_argument(
        "--blocks", type=_option_types.counts, default=(), metavar="N,...",
        help="layers in each compiled function (default: powers of 2 up to the dimension `layers`)",
    )  # fmt: skip
    _arguments.add_size(scope)
    timing = command.add_argument_group("timing")
    _timing_arguments.add_pairs(timing, 8)
    _timing_arguments.add_budget(timing, 1.0)
    _timing_arguments.add_seed(timing)
    _timing_arguments.add_threads(timing)
    _arguments.add_workers(command, with_recorded=False)
    _arguments.add_output(command, DEFAULT_OUT)


def main(options: argparse.Namespace) -> Conclusion:
    """Judge, time, write, print; the verdict.

    Raises:
      RequestError: there is no such chain, or it cannot be built in blocks.
    """
    survey = Survey(timing_blocks.survey, "blocks.json", block_page.page)
    return survey.run(options, lambda: _chains(options), lambda: _plan(options))


def _chains(options: argparse.Namespace) -> Sequence[Series]:
    selection = find_workloads(options.workloads or list(CHAINS), CHAINS)
    return [size_series.in_blocks(workload, options.blocks, options.size) for workload in selection]


def _plan(options: argparse.Namespace) -> Plan:
    threads = _option_types.thread_counts(options.threads)[0]
    return Plan(options.pairs, options.pairs, budget_s=options.budget, threads=threads, seed=options.seed)
