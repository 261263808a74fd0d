"""Larger batches: what is timed at several batch sizes, each mode in a fresh process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from compare import files
from compare.bench import batches, phases
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_batch
from compare.measure.phase_processes import Workers
from compare.progress import Reporter
from compare.record.cost_parts import Batch, Batches
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import SideError
from compare.sides.workers import failure_of
from workloads.core.declared import AnyWorkload
from workloads.core.modes import Mode
from workloads.protocol.framework import STEP

MODES: Mapping[str, Sequence[str]] = {"tf": ("eager", "graph", "jit"), "jax": ("jit", "donated")}
"""Operation by operation, as a graph, and compiled; with the state updated in place and without."""

STATELESS_MODES: Mapping[str, Sequence[str]] = {**MODES, "jax": ("jit",)}
"""The modes of a pass that updates no state."""

SIZES = (32, 256, 2048, 16384)


def measure(
    workload: AnyWorkload,
    size: str,
    data: Path | None,
    limit_bytes: int,
    workers: Workers,
    reporter: Reporter,
    sizes: Sequence[int] = SIZES,
    modes: Mapping[str, Sequence[str]] = MODES,
    main_pass: str = STEP,
) -> tuple[Batches, list[Failure]]:
    """Memory and throughput of a pass against its batch size; all other dimensions are those of `size`.

    A mode that fails at a batch (its process was killed, or took too long) is not tried at a larger one.

    Args:
      data: training data; None is the workload's own.
      modes: by side.

    Raises:
      RequestError: the workload does not train, or its batch is no dimension that can be chosen.
    """
    wanted_modes = [Mode(side, name) for side in workers.live for name in modes.get(side, ())]
    reporter.stage(f"batches of {workload.name}", len(sizes) * len(wanted_modes))
    rows: list[Batch] = []
    failures: list[Failure] = []
    for batch in sorted(sizes):
        instance = prepare_batch(workload, size, batch, data, workers.scratch).on_pass(main_pass)
        for mode in list(wanted_modes):
            reporter.step(f"{mode} batch {batch}")
            try:
                rows.append(_row(instance, mode, batch, workers))
            except SideError as error:
                wanted_modes.remove(mode)
                rows.append(Batch(mode=str(mode), batch=batch, reason=error.reason))
                failures.append(failure_of(error, f"batch {batch} of {mode}"))
    return batches.summarise(limit_bytes, rows), failures


def _row(instance: Prepared, mode: Mode, batch: int, workers: Workers) -> Batch:
    with workers.once(mode.side) as worker:
        requests.load(worker, instance.loading)
        start = files.convert_plain(requests.phases(worker, mode.name), phases.Start)
    process, memory = phases.process_of(start), phases.memory_of(start)
    baseline, peak = process.baseline_rss_bytes, process.peak_rss_bytes
    return Batch(
        mode=str(mode),
        batch=batch,
        peak_bytes=None if baseline is None or peak is None else peak - baseline,
        temp_bytes=memory.temp_bytes if memory else None,
        steady_s=process.steady_s,
        examples_per_s=batch / start.steady_s,
        reason="",
    )
