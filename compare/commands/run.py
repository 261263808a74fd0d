"""`jaxport run`: every judge over the workloads, and the report."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from compare.commands import _arguments, _asked, _timing_arguments
from compare.commands._conclusion import Conclusion
from compare.commands._output import deliver, writable_folder
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.inputs.request import Plan
from compare.progress import reporter
from compare.report import terminal
from compare.run import whole_run
from compare.run.kept_judgements import FOLDER, Judgements
from compare.sides.settings import available_processors

HELP = Help(
    description="""\
Prove ports: check that JAX and TensorFlow compute the same numbers, compare their programs, time both side by side,
and write results.json and report.html.

Without WORKLOAD and --size this runs the tour: five small built-in workloads, functions at size `default`, models at
size `smoke`. With --size alone it runs every built-in workload at that size.
""",
    operands="[WORKLOAD ...]",
    examples="""\
  jaxport run                                        the tour
  jaxport run --size smoke --no-timing               every built-in workload, untimed
  jaxport run running_example mnist_mlp --size smoke
  jaxport run mnist_mlp --data ~/mnist.npz           train on the real MNIST
  jaxport run my_port.py                             your port file, weights and training included
  jaxport run my_port.py --modes tf/jit jax/donated --parity-only
  jaxport run my_port.py --parity-only --fail-fast   stop at the first failure, and say which lines differ
  jaxport run mnist_mlp --baseline tf/graph
  jaxport run my_port.py --pass forward              compare and time inference
  jaxport run my_port.py --target H100 --target v5e:2x2
  jaxport run my_port.py --tf-recorded tf.side       TensorFlow's side recorded on another machine
  jaxport run --size smoke --resume                  go on where a killed run of these ended
  jaxport run --ray auto --size smoke                each workload on a node of the Ray cluster that this machine is in
  jaxport run --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128] --input n=i32[4]:0..10
  jaxport run --tf my_tf.py:f --jax my_jax.py:g --input x=f32[B,128] --dimension B=1..64
""",
    holds="every verdict holds, however slow the port",
    fails="a parity verdict fails or is not judged, or a side failed to deliver a result",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command)
    scope = command.add_argument_group("scope")
    _arguments.add_pass(scope, "what is compiled, profiled and timed; parity judges every pass")
    _timing_arguments.add_unroll(scope)
    _arguments.add_modes(scope)
    _arguments.add_parity_size(scope)
    _arguments.add_fail_fast(scope)
    scope.add_argument("--parity-only", action="store_true", help="judge parity only: no programs, kernels or times")
    _arguments.add_no_alignment(scope)
    scope.add_argument("--no-timing", action="store_true", help="judge parity and compare programs only: no times")
    timing = command.add_argument_group("timing")
    _timing_arguments.add_pairs(timing, Plan.pairs)
    _timing_arguments.add_budget(timing, Plan.budget_s)
    _timing_arguments.add_seed(timing)
    _arguments.add_targets(command)
    _arguments.add_workers(command)
    _arguments.add_ray(command)
    output = command.add_argument_group("output")
    _arguments.add_out_folder(output, _arguments.DEFAULT_OUT)
    output.add_argument(
        "--resume",
        action="store_true",
        help="continue a run that was killed or interrupted, in the same folder: workloads whose files, arrays, "
        "versions and options are unchanged are not judged again",
    )
    _timing_arguments.add_baseline(output)
    _arguments.add_json(output)


def main(options: argparse.Namespace) -> Conclusion:
    """Run, write the record and the report, print the overview; the verdict."""
    if options.main_pass and options.parity_only:
        raise RequestError("expected --pass without --parity-only, which judges every pass, found both: drop one")
    _timing_arguments.check_unroll(options)
    out = writable_folder(options.out)
    if options.ray:
        # Without a cluster nobody waits for its modules.
        from compare.commands._on_cluster import on_cluster

        with_timing = not options.no_timing and not options.parity_only
        return deliver(on_cluster(options, with_timing), out, options.json, baseline=options.baseline)
    plan = Plan(
        options.pairs, options.pairs, budget_s=options.budget, threads=available_processors(), seed=options.seed
    )
    with ExitStack() as stack:
        request = whole_run.Request(
            workloads=_asked.workloads(options),
            size=options.size,
            parity_size=options.parity_size,
            alignment=not options.no_alignment,
            data=options.data,
            sources=_asked.sources(options),
            timeout_s=options.timeout,
            plans=() if options.no_timing or options.parity_only else (plan,),
            targets=_asked.targets(options, stack),
            modes=options.modes,
            main_pass=options.main_pass,
            unrolled=options.unroll,
            parity_only=options.parity_only,
            fail_fast=options.fail_fast,
        )
        judgements = Judgements(out / FOLDER, request)
        judgements.sweep()
        if not options.resume:
            judgements.forget()
        with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
            result = whole_run.run(request, progress, judgements=judgements)
    conclusion = deliver(result, out, options.json, baseline=options.baseline)
    if not result.interrupted:
        judgements.forget()
    return conclusion
