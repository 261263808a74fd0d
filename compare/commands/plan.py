"""`jaxport plan`: what a training step takes on clusters, before one is rented."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from compare.commands import _arguments, _option_types
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import or_else, rescue, writable_folder
from compare.commands._parser import Help
from compare.commands._signals import hold_signals
from compare.devices.cluster import Cluster, cluster
from compare.errors import RequestError
from compare.inputs import port_files
from compare.plain_json import to_json, write_json
from compare.planning.judged_layouts import judge_all
from compare.planning.mesh_layouts import LAYOUTS
from compare.planning.planned_clusters import Asked, plan_cluster
from compare.planning.sized_steps import SizedSteps
from compare.progress import Reporter, reporter
from compare.record.envelope import SCHEMA
from compare.record.plan_part import JudgedLayout, Planned, PlannedCluster, PlannedStep
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import plan_page, terminal
from compare.report.page_console import print_page
from compare.report.verdicts import INCOMPLETE
from compare.sides.device_worker import DeviceWorker, interpreter
from compare.sides.pool import Pool
from compare.sides.sources import source
from workloads.core.declared import AnyWorkload
from workloads.core.modes import JAX
from workloads.core.spec import Workload

DEFAULT_OUT = Path("jaxport-plan")
DEFAULT_TARGETS = ("H100:1x8", "H100:2x8", "v5e:2x4")
BASE, SMOKE = "base", "smoke"

HELP = Help(
    description="""\
Compile the JAX training step of a workload for clusters that need not be here, in several layouts: the batch split
over the devices (data), parameters and optimizer state too (fsdp), the model split by heads and hidden features
(tensor), and the first and the last mixed. For each: the collectives, the minimum bytes that a device sends over each
kind of link, the memory of a device, and lower bounds of the time. Nothing runs there: a lower bound is no measured
time.

Each layout is first run at size smoke on several CPU devices, to check that it computes the same.
""",
    operands="[WORKLOAD|PORT]",
    examples="""\
  jaxport plan --target H100:1x8 --target v5e:2x4        BERT at size base
  jaxport plan bert --size large --target H100:2x8 --layers 1,2
  jaxport plan my_port.py --target A100:2x8 --layout fsdp --batch 256
  jaxport plan mnist_mlp --size default --target H100:1x4 --largest-batch
""",
    holds="every layout that was run computes the same, and one at least was compiled for each target",
    fails="a layout computes something else, or a target has no figures",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "workload", nargs="?", default="bert", metavar="WORKLOAD|PORT",
        help="a workload that trains, or a port file (default: bert)",
    )  # fmt: skip
    scope = command.add_argument_group("scope")
    scope.add_argument(
        "--size", action="append", dest="sizes", metavar="SIZE",
        help="size of the workload; repeatable (default: base, where it has one)",
    )  # fmt: skip
    scope.add_argument("--data", type=Path, metavar="FILE", help="training data as .npz or .npy")
    scope.add_argument(
        "--layout", action="append", dest="layouts", choices=LAYOUTS,
        help="how the step is laid out; repeatable (default: all)",
    )  # fmt: skip
    scope.add_argument(
        "--batch", type=_option_types.count, metavar="N",
        help="examples of a step, on all devices together (default: 64, or one a device where there are more)",
    )  # fmt: skip
    scope.add_argument(
        "--layers", type=_option_types.counts, default=(), metavar="N,N",
        help="compile the step with these two numbers of layers, and extrapolate linearly. Faster for large models",
    )  # fmt: skip
    scope.add_argument(
        "--largest-batch",
        action="store_true",
        help="find the largest batch that fits, by several compilations for each layout",
    )
    scope.add_argument(
        "--largest-model", action="store_true",
        help="find the most layers that fit at this batch, by several compilations for each layout; of at most 2 GiB "
        "of weights",
    )  # fmt: skip
    scope.add_argument("--no-parity", action="store_true", help="judge no layout on CPU devices")
    targets = command.add_argument_group("targets")
    targets.add_argument(
        "--target", dest="targets", action="append", metavar="NAME",
        help="hosts x GPUs of each, as in H100:2x8, or a slice of a TPU, as in v5e:2x4; repeatable (default: "
        f"{', '.join(DEFAULT_TARGETS)})",
    )  # fmt: skip
    _arguments.add_target_python(targets)
    _arguments.add_workers(command, with_recorded=False, device=False, sides=(JAX,))
    _arguments.add_output(command, DEFAULT_OUT)


def main(options: argparse.Namespace) -> Conclusion:
    """Judge, compile, write, print; the verdict.

    Raises:
      RequestError: there is no such workload, size or target, or it does not train.
    """
    out = writable_folder(options.out)
    clusters = [cluster(name) for name in dict.fromkeys(options.targets or DEFAULT_TARGETS)]
    workload = port_files.get(options.workload)
    for option in ("largest_batch", "largest_model"):
        if options.layers and getattr(options, option):
            raise RequestError(
                f"expected --layers or --{option.replace('_', '-')}, found both: drop one, memory follows no line of "
                "layers"
            )
    through = _through(options.layers)
    request = Asked(options.layouts or LAYOUTS, options.batch, through, options.largest_batch, options.largest_model)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        pool = Pool({JAX: source(JAX, options.jax_python, None)}, scratch, options.timeout)
        stack.callback(pool.close)
        worker = DeviceWorker(interpreter(options.target_python), options.timeout, stack)
        record = _plan(workload, clusters, request, options, pool, worker, scratch, progress)
    _deliver(record, out, options.json)
    return conclude(record, with_run=not options.no_parity)


@hold_signals()
def _deliver(record: Planned, out: Path, as_json: bool) -> None:
    """Write the record, and print it."""
    plain = to_json(record)
    with or_else(lambda: rescue(plain, "plan.json", as_json)):
        write_json(out / "plan.json", plain)
    page = plan_page.page(record)
    terminal.print_answer(plain, as_json, lambda console: print_page(page, console), out / "plan.json")


def _through(layers: Sequence[int]) -> tuple[int, ...]:
    if layers and (len(layers) != 2 or layers[0] >= layers[1]):
        counts = ",".join(map(str, layers))
        raise RequestError(f"expected two numbers of layers, the smaller first, found {counts!r}: correct --layers")
    return tuple(layers)


def _plan(
    workload: AnyWorkload,
    clusters: Sequence[Cluster],
    request: Asked,
    options: argparse.Namespace,
    pool: Pool,
    worker: DeviceWorker,
    scratch: Path,
    progress: Reporter,
) -> Planned:
    sizes = options.sizes or [BASE if isinstance(workload, Workload) and BASE in workload.sizes else None]
    steps = [SizedSteps(pool, workload, size, options.data, scratch) for size in sizes]
    if request.through or request.deepening:
        for step_size in steps:
            step_size.layers()
    judgements: tuple[JudgedLayout, ...] = ()
    if not options.no_parity:
        progress.stage(f"{workload.name}: layouts on CPU devices", 1)
        judgements = judge_all(request.layouts, _small(pool, workload, options.data, scratch), worker)
    sized_steps = []
    for step_size in steps:
        progress.stage(f"{workload.name} at {step_size.size}", len(clusters) * len(request.layouts))
        rows = tuple(plan_cluster(one, step_size, request, worker, progress) for one in clusters)
        sized_steps.append(_step(workload, step_size, request, judgements, rows))
    packages = {
        name: version for of_platform in worker.platforms().values() for name, version in of_platform.versions.items()
    }
    return Planned(schema=SCHEMA, packages=packages, steps=tuple(sized_steps))


def _small(pool: Pool, workload: AnyWorkload, data: Path | None, scratch: Path) -> SizedSteps:
    folder = scratch / SMOKE
    folder.mkdir()
    return SizedSteps(pool, workload, SMOKE, data, folder)


def _step(
    workload: AnyWorkload,
    steps: SizedSteps,
    request: Asked,
    judgements: tuple[JudgedLayout, ...],
    rows: tuple[PlannedCluster, ...],
) -> PlannedStep:
    return PlannedStep(
        workload=workload.name,
        size=steps.size,
        dimensions=dict(steps.dimensions()),
        parameters=steps.parameters(),
        line_through=request.through,
        judged=judgements,
        clusters=rows,
    )


def conclude(record: Planned, with_run: bool) -> Conclusion:
    """The verdict on the layouts that have figures: whether each was run and computes the step.

    Args:
      with_run: whether layouts were to be run on CPU devices.
    """
    other = {one.layout for step in record.steps for one in step.judged if one.agrees is False}
    if other:
        return Conclusion(FAIL, f"layouts that compute something else: {list_names(sorted(other))}")
    rows = [(cluster.target, row) for step in record.steps for cluster in step.clusters for row in cluster.layouts]
    targets = [cluster.target for step in record.steps for cluster in step.clusters]
    without = [name for name in targets if not any(row.peak_bytes for target, row in rows if target == name)]
    if without:
        return Conclusion(INCOMPLETE, f"targets without figures: {list_names(without)}")
    agreeing = {one.layout for step in record.steps for one in step.judged if one.agrees}
    missing = {row.layout for _, row in rows if row.peak_bytes} - agreeing
    if with_run and missing:
        return Conclusion(NOT_JUDGED, f"layouts with figures that were not run: {list_names(sorted(missing))}")
    return Conclusion(PASS, f"{'every layout computes the step, and ' if with_run else ''}every target has figures")
