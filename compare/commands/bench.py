"""`jaxport bench`: everything that time can tell, after parity."""

from __future__ import annotations

import argparse
import dataclasses
import platform

import msgspec

from compare.commands import _arguments, _asked, _option_types, _timing_arguments
from compare.commands._conclusion import Conclusion
from compare.commands._output import deliver, writable_folder
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.inputs.request import Extras, Plan
from compare.progress import reporter
from compare.report import terminal
from compare.run import whole_run
from workloads.core.device import CPU, GPU
from workloads.core.modes import JAX_RETAINED, JAX_SYNCHRONOUS

HELP = Help(
    description="""\
Time ports in depth, after proving them as `jaxport run` does: more processes, and further ones until identical
code comes out close to itself; the limits of the machine; and other ways to run the original in JAX (peers). --thorough
also times one thread and the phases of a start (import, trace, lower, compile, first call, with memory and code size),
which takes several minutes for each workload. Run it on a quiet machine.
""",
    operands="[WORKLOAD ...]",
    examples="""\
  jaxport bench running_example
  jaxport bench my_port.py --thorough           one thread and phases too
  jaxport bench my_port.py --no-peers --no-limits --no-alignment    ratios only
  jaxport bench mnist_mlp --batches 32,1024,8192 --memory-limit 512M
  jaxport bench mnist_mlp --baseline tf/graph    every mode over TensorFlow's graph mode
  jaxport bench my_port.py --pass forward       inference in place of the training step
  jaxport bench bert --allocator retain         what mapping memory anew in every call costs the port
  jaxport bench add --dispatch synchronous      what handing a short call to another thread costs it
  jaxport bench my_port.py --unroll 10          ten training steps in one program, times per step
  jaxport bench --ray 10.0.0.1:6379 --size smoke,default
                                                each workload at each size on a node of this Ray cluster
  jaxport bench --save                          save the record, for `jaxport history compare` and `jaxport history`
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
    _arguments.add_no_alignment(scope)
    timing = command.add_argument_group("timing")
    _timing_arguments.add_plan(timing)
    timing.add_argument(
        "--threads", metavar="N,...",
        help="thread counts, `all` for one a processor; the first is the headline (default: all; --thorough: all,1)",
    )  # fmt: skip
    timing.add_argument("--thorough", action="store_true", help="--threads all,1 --phases 3, unless these are given")
    _add_extras(command.add_argument_group("further measurements"))
    _arguments.add_workers(command)
    _arguments.add_ray(command)
    output = command.add_argument_group("output")
    _arguments.add_out_folder(output, _arguments.DEFAULT_OUT)
    _timing_arguments.add_baseline(output)
    _arguments.add_json(output)
    output.add_argument("--save", action="store_true", help="save the record in --history too")
    _arguments.add_history(output)


def _add_extras(command: argparse._ActionsContainer) -> None:
    command.add_argument(
        "--phases", type=_option_types.count_or_zero, metavar="N",
        help="fresh processes for the median of each phase; 0 skips phases (default: 0; --thorough: 3)",
    )  # fmt: skip
    command.add_argument(
        "--no-limits", action="store_true", help="do not measure the machine's bandwidth and peak FLOP/s"
    )
    command.add_argument(
        "--no-peers", action="store_true", help="do not judge and time tf2jax, call_tf and Keras on JAX"
    )
    command.add_argument(
        "--allocator", choices=("retain",),
        help="also time jax/jit in a process whose C library keeps its memory (jax/retained): what page faults cost "
        "(default: the C library as it is)",
    )  # fmt: skip
    command.add_argument(
        "--dispatch", choices=("synchronous",),
        help="also time jax/jit in a process without asynchronous dispatch (jax/synchronous): what handing a short "
        "call to another thread costs (default: JAX as it is)",
    )  # fmt: skip
    command.add_argument(
        "--batches", type=_option_types.counts, default=(), metavar="N,...",
        help="batch sizes at which to measure memory and throughput of what is timed, in every mode (default: none)",
    )  # fmt: skip
    command.add_argument(
        "--memory-limit", type=_option_types.memory, default=1 << 30, metavar="BYTES",
        help="with --batches, find the largest batch whose peak memory is below this, such as 512M (default: 1G)",
    )  # fmt: skip


def main(options: argparse.Namespace) -> Conclusion:
    """Run, write the record and the report, print the overview; the verdict."""
    _timing_arguments.check_unroll(options)
    omissions = _omissions(options)
    _complete(options)
    out = writable_folder(options.out)
    if options.save:
        writable_folder(options.history)
    if options.ray:
        # Without a cluster nobody waits for its modules.
        from compare.commands._on_cluster import on_cluster

        result = on_cluster(options, with_timing=True)
    else:
        result = _run(options)
    result = dataclasses.replace(result, record=msgspec.structs.replace(result.record, omissions=omissions))
    return deliver(result, out, options.json, options.history if options.save else None, options.baseline)


def _run(options: argparse.Namespace) -> whole_run.RunResult:
    workloads = _asked.workloads(options)
    if options.allocator and platform.libc_ver()[0] != "glibc":
        raise RequestError(f"expected glibc for --allocator {options.allocator}, found another C library: drop it")
    if options.dispatch and options.device[0] != CPU:
        raise RequestError(f"expected a CPU with --dispatch {options.dispatch}, found --device {GPU}: drop it")
    if options.batches:
        _asked.check_batches(workloads, options, "--batches")
    request = whole_run.Request(
        workloads=workloads,
        size=options.size,
        parity_size=options.parity_size,
        alignment=not options.no_alignment,
        modes=options.modes,
        main_pass=options.main_pass,
        unrolled=options.unroll,
        data=options.data,
        sources=_asked.sources(options),
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
        return whole_run.run(request, progress)


def _complete(options: argparse.Namespace) -> None:
    """Give the options that --thorough stands for, where none was given."""
    options.threads = options.threads or ("all,1" if options.thorough else "all")
    options.phases = (3 if options.thorough else 0) if options.phases is None else options.phases


def _omissions(options: argparse.Namespace) -> tuple[str, ...]:
    """Lines on measurements that are off by default, with the options that turn them on."""
    if options.thorough:
        return ()
    by_option = {
        "other numbers of threads (--threads all,1)": options.threads,
        "the phases of a start (--phases 3)": options.phases,
    }
    return tuple(what for what, value in by_option.items() if value is None)


def _plans(options: argparse.Namespace) -> list[Plan]:
    """One plan a thread count; peers with the headline only: each costs a process that imports both frameworks."""
    headline, *others = (
        _timing_arguments.plan(options, threads) for threads in _option_types.thread_counts(options.threads)
    )
    others = [dataclasses.replace(other, peers=False) for other in others]
    settings = {JAX_RETAINED: options.allocator, JAX_SYNCHRONOUS: options.dispatch}
    elsewhere = [mode for mode, value in settings.items() if value is not None]
    return [dataclasses.replace(headline, other_processes=elsewhere), *others]
