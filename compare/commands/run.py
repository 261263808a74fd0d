"""`jaxport run`: every judge over the workloads, and the report."""

from __future__ import annotations

import argparse

from compare.commands import _arguments
from compare.commands._output import deliver, writable_folder
from compare.inputs.request import Plan
from compare.progress import reporter
from compare.report import terminal
from compare.run import whole_run
from compare.sides.settings import available_processors

TEXT = """\
Prove ports: parity against a float64 oracle, both programs, and paired timing; write results.json and report.html.

Without a workload and a size this is the tour: the small built-in workloads, functions at size default, models at
size smoke. With a size alone it is every built-in workload at that size.

examples:
  jaxport run                                        the tour
  jaxport run --size smoke --no-timing               every built-in workload
  jaxport run my_port.py --modes tf/jit jax/donated --parity-only
  jaxport run running_example mnist_mlp --size smoke
  jaxport run mnist_mlp --data ~/mnist.npz           on the real MNIST
  jaxport run --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128] --input n=i32[4]:0..10
  jaxport run --tf my_tf.py:f --jax my_jax.py:g --input x=f32[B,128] --dimension B=1..64
  jaxport run my_port.py                             a port file: declares a Workload, weights included
  jaxport run my_port.py --tf-recorded tf.side       TensorFlow's half recorded on another machine

exit codes: 0 every verdict holds; 1 a verdict fails or a side was lost; 2 the request cannot be carried out
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    _arguments.add_workloads(command)
    _arguments.add_out(command)
    _arguments.add_sides(command)
    less = command.add_argument_group("asking for less")
    _arguments.add_modes(less)
    _arguments.add_parity_size(less)
    _arguments.add_no_alignment(less)
    less.add_argument("--parity-only", action="store_true", help="the six gates, and no programs, kernels or times")
    timing = command.add_argument_group("timing")
    timing.add_argument(
        "--pairs", type=_arguments.count, default=Plan.pairs, metavar="N",
        help="sets of fresh processes; below 5 no interval is given (default: %(default)s)",
    )  # fmt: skip
    timing.add_argument(
        "--budget", type=_arguments.seconds, default=Plan.budget_s, metavar="S",
        help="seconds a workload and set (default: %(default)s)",
    )  # fmt: skip
    timing.add_argument("--no-timing", action="store_true", help="parity and programs only")
    timing.add_argument("--seed", type=int, default=0, help="of the order in which processes and modes take turns")


def main(options: argparse.Namespace) -> int:
    """Run, write, print."""
    out = writable_folder(options.out)
    plan = Plan(
        options.pairs, options.pairs, budget_s=options.budget, threads=available_processors(), seed=options.seed
    )
    request = whole_run.Request(
        workloads=_arguments.workloads(options),
        size=options.size,
        parity_size=options.parity_size,
        alignment=not options.no_alignment,
        data=options.data,
        sources=_arguments.sources(options),
        timeout_s=options.timeout,
        plans=() if options.no_timing or options.parity_only else (plan,),
        modes=options.modes,
        parity_only=options.parity_only,
    )
    with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
        found = whole_run.run(request, progress)
    return deliver(found, out, options.json)
