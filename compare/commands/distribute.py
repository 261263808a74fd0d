"""`jaxport distribute`: the training step on several devices, by strategies of both frameworks."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from compare.commands import _arguments, _option_types
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._interpreters import interpreters
from compare.commands._output import writable_file
from compare.commands._parser import Help
from compare.distribution import distributing
from compare.distribution.distributing import Asked
from compare.distribution.more_devices import with_more_devices
from compare.distribution.strategies import BY_NAME, STRATEGIES
from compare.distribution.worker_groups import Groups
from compare.errors import RequestError
from compare.inputs import port_files
from compare.plain_json import write_json
from compare.progress import reporter
from compare.record.distribution_part import Distribution, Distributions
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS, compose
from compare.report import terminal
from compare.report.distribution_tables import print_distributions
from compare.sides.settings import available_processors

_LISTED = "\n".join(f"  {strategy!s:22}{strategy.summary}" for strategy in STRATEGIES)

HELP = Help(
    description=f"""\
Distribute a training step over logical devices of this machine's CPU, by strategies of TensorFlow and of JAX side by
side, and show for each: whether it computes what one device computes, or what replicas compute one after the other;
the first value that differs; how many programs were compiled; what devices exchange; and seconds of a step.

{_LISTED}
""",
    operands="WORKLOAD ...",
    examples="""\
  jaxport distribute mnist_mlp                               every strategy on two devices
  jaxport distribute mnist_mlp bert --devices 4
  jaxport distribute bert --devices 2,4 --strategies jax/spmd jax/fsdp jax/tensor
  jaxport distribute resnet50 --strategies jax/spmd jax/shard_map
  jaxport distribute mnist_mlp --resume                      and with a process killed and its run resumed
  jaxport distribute my_port.py --no-timing --json | jq '.workloads[].strategies | map_values(.verdict)'
""",
    holds="every strategy that its framework takes computes what it should, on every device and in both frameworks",
    fails="one computes something else, devices hold different values of one array, the arrays could not tell a "
    "mistake, or a worker was lost",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "workloads", nargs="+", metavar="WORKLOAD", help="name of a workload that trains, or a port file"
    )
    scope = command.add_argument_group("scope")
    _arguments.add_size(scope)
    scope.add_argument(
        "--devices", type=_option_types.counts, default=(2,), metavar="N,...",
        help="logical devices of a process; of several numbers each is run, and a table says how a step scales "
        "(default: 2)",
    )  # fmt: skip
    scope.add_argument(
        "--steps", type=_option_types.count, default=3, metavar="K",
        help="training steps that are compared (default: %(default)s)",
    )  # fmt: skip
    scope.add_argument(
        "--strategies", nargs="+", choices=BY_NAME, default=(), metavar="NAME",
        help=f"only these, of {', '.join(BY_NAME)} (default: all)",
    )  # fmt: skip
    scope.add_argument(
        "--resume", action="store_true",
        help="also kill a process of each strategy in the middle of its steps, go on from a checkpoint in another one, "
        "and hold what follows against the run without an interruption",
    )  # fmt: skip
    scope.add_argument("--no-timing", action="store_true", help="do not time steps")
    _arguments.add_workers(command, with_recorded=False, device=False)
    command.add_argument(
        "--join-limit", type=_option_types.seconds, default=60.0, metavar="S",
        help="seconds that a process waits for the others of its cluster (default: %(default)s)",
    )  # fmt: skip
    output = command.add_argument_group("output")
    _arguments.add_out_file(output, "the record as JSON")
    _arguments.add_json(output)


def main(options: argparse.Namespace) -> Conclusion:
    """Run, judge, print; the verdict.

    Raises:
      RequestError: fewer than two devices, no such workload, or one that cannot be divided.
    """
    if min(options.devices) < 2:
        counts = ",".join(map(str, options.devices))
        raise RequestError(f"expected --devices of at least 2, found {counts}: one device exchanges nothing")
    if options.out is not None:
        writable_file(options.out)
    pythons = interpreters(options)
    strategies = [BY_NAME[name] for name in options.strategies] or list(STRATEGIES)
    if options.resume and options.steps < 2:
        raise RequestError(f"expected --steps of at least 2 with --resume, found {options.steps}: raise it")
    requests = [
        Asked(strategies, options.size, devices, options.steps, not options.no_timing, options.resume)
        for devices in dict.fromkeys(options.devices)
    ]
    selection = port_files.get_each(list(dict.fromkeys(options.workloads)))
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        results_so_far: list[Distribution] = []
        versions: dict[str, str] = {}
        queue = [(request, selection) for request in requests]
        while queue:
            request, workloads = queue.pop(0)
            # A process has as many devices as it was started with.
            with Groups(pythons, options.timeout, options.join_limit, scratch) as groups:
                folder = scratch / f"{len(results_so_far)}-on-{request.devices}-devices"
                folder.mkdir()
                results = [
                    distributing.distribute(workload, request, groups, folder, progress) for workload in workloads
                ]
                versions |= groups.versions()
            if len(requests) == 1 and not results_so_far:
                more = (
                    (with_more_devices(one, request), workload)
                    for one, workload in zip(results, workloads, strict=True)
                )
                queue = [(again, [workload]) for again, workload in more if again is not None]
            results_so_far += results
    names = [workload.name for workload in selection]
    distributions = tuple(sorted(results_so_far, key=lambda distribution: names.index(distribution.name)))
    record = Distributions(SCHEMA, distributions, available_processors(), versions)
    terminal.print_answer(record, options.json, lambda console: print_distributions(record, console))
    if options.out is not None:
        write_json(options.out, record)
    return conclude(distributions)


def conclude(distributions: Sequence[Distribution]) -> Conclusion:
    """The verdict on every step that was distributed."""
    verdict = compose(distribution.verdict for distribution in distributions)
    names = [f"{one.name} on {one.devices} devices" for one in distributions if compose([one.verdict]) == verdict]
    sentences = {PASS: "every strategy that was run computes the step", FAIL: "not the step of one device",
                 NOT_JUDGED: "no strategy could be run"}  # fmt: skip
    return Conclusion(verdict, f"{sentences[verdict]}: {list_names(names)}")
