"""Runs of identical code, many times over: how accurate the harness is."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path

from compare.inputs.port_files import prepare_both
from compare.inputs.request import Plan
from compare.measure import timed_samples, timed_sets
from compare.progress import Reporter
from compare.record.timing_part import Timing
from compare.record.workload_part import Failure
from compare.sides.pool import Source
from workloads.core.declared import AnyWorkload
from workloads.core.modes import CONTROL_NAMES


def null_runs(
    workload: AnyWorkload,
    size: str | None,
    sources: Mapping[str, Source],
    plan: Plan,
    runs: int,
    timeout_s: float,
    reporter: Reporter,
) -> tuple[list[Timing], list[Failure]]:
    """`runs` independent timings of the compiled mode of each side, each with its null and planted slowdowns.

    Nothing is compared across sides, so parity is not judged.

    Args:
      size: None takes the workload's size of the tour.
      sources: by side, its interpreter.
      timeout_s: seconds that one request may take.
    """
    modes = {side: CONTROL_NAMES[:1] for side in sources}
    timings: list[Timing] = []
    failures: list[Failure] = []
    with tempfile.TemporaryDirectory(prefix="jaxport-") as folder:
        scratch = Path(folder)
        _, large = prepare_both(workload, size, None, scratch)
        to_time = timed_sets.Timed(large, modes, {})
        for number in range(runs):
            plan_of_run = dataclasses.replace(plan, seed=plan.seed + number * plan.most_pairs)
            samples = timed_sets.measure([to_time], sources, plan_of_run, scratch, timeout_s, reporter)[workload.name]
            failures += samples.failures
            timings.append(timed_samples.summarise(samples, recorded_sides=()).timing)
    return timings, failures
