"""`jaxport bench`: everything that time can tell, after parity."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from compare.commands import _arguments
from compare.commands._output import deliver, writable_folder
from compare.errors import RequestError
from compare.inputs import port_files
from compare.inputs.at_size import choose_size
from compare.inputs.request import Extras, Plan
from compare.progress import reporter
from compare.report import terminal
from compare.run import whole_run
from workloads._declared import AnyWorkload

TEXT = """\
Prove ports, then time them: more processes than `jaxport run`, on one thread and on all; phases (import, trace,
lower, compile, first call, memory, code size), each in fresh processes, without and with a compilation cache; other
ways to run the original in JAX beside the port. Takes several minutes a workload; let the machine be quiet.

examples:
  jaxport bench running_example
  jaxport bench my_port.py --threads all --phases 0 --no-peers --no-limits --no-alignment     ratios only
  jaxport bench mnist_mlp --batches 32,1024,8192 --memory-limit 512M
  jaxport bench --save                          keep the record in .jaxport/history, for `jaxport compare`

exit codes: 0 every verdict holds; 1 a verdict fails or a side was lost; 2 the request cannot be carried out.
A slower port is not a failure.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    _arguments.add_workloads(command)
    _arguments.add_out(command)
    _arguments.add_sides(command)
    _arguments.add_save(command)
    less = command.add_argument_group("asking for less")
    _arguments.add_modes(less)
    _arguments.add_parity_size(less)
    _arguments.add_no_alignment(less)
    timing = command.add_argument_group("timing")
    _arguments.add_plan(timing)
    timing.add_argument(
        "--threads", default="all,1", metavar="N,...", help="rows; the first is the main one (default: %(default)s)"
    )
    extras = command.add_argument_group("beside ratios")
    extras.add_argument(
        "--phases", type=_processes, default=3, metavar="N",
        help="processes behind each median of the phases; 0 measures none (default: %(default)s)",
    )  # fmt: skip
    extras.add_argument("--no-limits", action="store_true", help="no limits of the machine")
    extras.add_argument("--no-peers", action="store_true", help="no tf2jax, call_tf, Keras on JAX")
    extras.add_argument(
        "--batches", type=_arguments.counts, default=(), metavar="N,...",
        help="memory and throughput of a training step at these batch sizes, whatever --modes",
    )  # fmt: skip
    extras.add_argument(
        "--memory-limit", type=_arguments.memory, default=1 << 30, metavar="BYTES",
        help="for the largest batch under it, such as 512M (default: 1G)",
    )  # fmt: skip


def main(options: argparse.Namespace) -> int:
    """Run, write, print."""
    out = writable_folder(options.out)
    workloads = _arguments.workloads(options)
    if options.batches:
        _check_batches(workloads, options)
    if options.save:
        writable_folder(options.history)
    request = whole_run.Request(
        workloads=workloads,
        size=options.size,
        parity_size=options.parity_size,
        alignment=not options.no_alignment,
        modes=options.modes,
        data=options.data,
        sources=_arguments.sources(options),
        timeout_s=options.timeout,
        plans=_plans(options),
        extras=Extras(
            limits=not options.no_limits,
            dispatch=3,
            phases=options.phases,
            batches=tuple(dict.fromkeys(options.batches)),
            memory_limit=options.memory_limit,
            peers=not options.no_peers,
        ),
    )
    with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
        found = whole_run.run(request, progress)
    return deliver(found, out, options.json, options.history if options.save else None)


def _processes(text: str) -> int:
    return 0 if text == "0" else _arguments.count(text)


def _check_batches(workloads: Sequence[AnyWorkload], options: argparse.Namespace) -> None:
    """Raise RequestError before anything is measured where there is no batch to enlarge."""
    training = [workload for workload in workloads if workload.training]
    if not training:
        names = ", ".join(workload.name for workload in workloads)
        raise RequestError(f"expected a workload that trains beside --batches, found {names}: drop --batches")
    for workload in training:
        port_files.check_batch(workload, choose_size(workload, options.size), options.data)


def _plans(options: argparse.Namespace) -> list[Plan]:
    """One a number of threads; peers stand beside the main one only: each costs a process that imports both sides."""
    main, *others = (_arguments.plan(options, threads) for threads in _arguments.thread_counts(options.threads))
    return [main, *(dataclasses.replace(other, peers=False) for other in others)]
