"""What a run measures once parity holds: ratios, and beside them threads, limits, dispatch, phases, batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from compare.bench.phases import Dispatch
from compare.bench.roofline import Limits, Roofline
from compare.inputs.request import Extras, Plan, Request
from compare.measure import batch_sizes, machine_limits, phase_processes, timed_sets
from compare.measure.phase_processes import Workers
from compare.measure.timed_sets import Timed
from compare.progress import Reporter
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import SIDES, Side, SideError
from compare.sides.client import LiveSide


def time_all(
    request: Request, to_time: Sequence[Timed], parts: dict[str, Any], scratch: Path, reporter: Reporter
) -> dict[str, Any]:
    """Add to every part what time tells of it; what it tells of the machine.

    Raises:
      Interrupted: by Ctrl-C or SIGTERM; sets of processes that were complete are in the parts.
    """
    own = {name: request.sources[name] for name in SIDES}
    main = Workers(own, scratch, request.timeout_s, request.plans[0].threads)
    dispatch, failures = phase_processes.dispatch(main, request.extras.dispatch)
    limits = {}
    for plan in request.plans:
        try:
            samples = timed_sets.measure(
                to_time, request.sources_with_peers(), plan, scratch, request.timeout_s, reporter
            )
        except timed_sets.Interrupted as stopped:
            complete = {name: measured for name, measured in stopped.samples.items() if measured.pairs}
            _add_timing(request, plan, parts, complete)
            raise
        _add_timing(request, plan, parts, samples)
        if plan.threads is not None and request.extras.limits:
            is_main = plan is request.plans[0]
            medians = {name: timed_sets.medians(measured) for name, measured in samples.items() if is_main}
            workers = dataclasses.replace(main, threads=plan.threads)
            # The machine's limits take any workload that is loaded, shares of them each its own.
            loaded = to_time if is_main else to_time[:1]
            limits[str(plan.threads)] = measure_limits(loaded, parts, medians, dispatch, workers, reporter)
    extras = request.extras
    if extras.phases:
        measure_phases(to_time, parts, extras.phases, main, reporter)
    if extras.batches:
        measure_batches(to_time, parts, request.data, extras, main, reporter)
    for part in parts.values():
        part["failures"] += failures
    return {"machine": limits, "dispatch": dispatch}


def _add_timing(
    request: Request,
    plan: Plan,
    parts: Mapping[str, dict[str, Any]],
    samples: Mapping[str, timed_sets.Samples],
) -> None:
    recorded = [side for side, source in request.sources.items() if source.recorded is not None]
    for name, measured in samples.items():
        part, found = parts[name], timed_sets.summarise(measured, recorded, plan.threads)
        if plan is request.plans[0]:
            part |= found
        if len(request.plans) > 1:
            part["by_threads"][str(plan.threads)] = found["timing"]
        part["failures"] += measured.failures


def measure_limits(
    workloads: Sequence[Timed],
    parts: Mapping[str, dict[str, Any]],
    medians: Mapping[str, Mapping[str, float]],
    dispatch: Mapping[str, Dispatch],
    workers: Workers,
    reporter: Reporter,
) -> Limits | None:
    """The machine's limits on so many threads; adds `roofline`, its share of them, to the part of each workload.

    Asks one process a side, loaded with one workload after the other.

    Args:
      medians: seconds of a call by workload and mode; a workload that is not among them gets no share.
      dispatch: what a call costs at least, by mode.
    """
    limits: Limits | None = None
    asked = workers.threads
    assert asked is not None, "limits are those of some number of threads"
    least = min((one.public_s for one in dispatch.values()), default=None)
    reporter.stage(f"limits on {asked} thread{'s' * (asked > 1)}", len(workloads))
    with ExitStack() as stack:
        sides: dict[str, Side] = {}
        for each in workloads:
            name = each.prepared.workload.name
            reporter.step(name)
            try:
                _renew(sides, stack, workers)
                for side in sides.values():
                    requests.load(side, each.prepared.loading)
                limits = limits or machine_limits.measure_machine(sides, asked)
                if name in medians:
                    parts[name]["roofline"] = _place(sides, each, parts[name], medians[name], limits, least)
            except SideError as error:
                parts[name]["failures"].append(Failure(error.side, f"limits: {error.doing}", error.reason))
    return limits


def measure_phases(
    workloads: Sequence[Timed], parts: Mapping[str, dict[str, Any]], repeats: int, workers: Workers, reporter: Reporter
) -> None:
    """Add `phases` to each part."""
    for each in workloads:
        part = parts[each.prepared.workload.name]
        part["phases"], failures = phase_processes.measure(each.prepared, each.modes, workers, reporter, repeats)
        part["failures"] += failures


def measure_batches(
    workloads: Sequence[Timed],
    parts: Mapping[str, dict[str, Any]],
    data: Path | None,
    extras: Extras,
    workers: Workers,
    reporter: Reporter,
) -> None:
    """Add `batches` to the part of each workload that trains."""
    for each in workloads:
        workload = each.prepared.workload
        if workload.training is None:
            continue
        found, failures = batch_sizes.measure(
            workload, each.prepared.size, data, extras.memory_limit, workers, reporter, extras.batches
        )
        parts[workload.name]["batches"] = found
        parts[workload.name]["failures"] += failures


def _renew(sides: dict[str, Side], stack: ExitStack, workers: Workers) -> None:
    """A process for every live side that has none, or whose process is gone."""
    for name in workers.live:
        side = sides.get(name)
        if side is None or (isinstance(side, LiveSide) and not side.alive):
            sides[name] = workers.start(name)
            stack.callback(sides[name].close)


def _place(
    sides: Mapping[str, Side],
    each: Timed,
    part: Mapping[str, Any],
    medians: Mapping[str, float],
    limits: Limits,
    dispatch_s: float | None,
) -> Roofline | None:
    """None where no program says what it reads and writes, or nothing counts its operations."""
    program = next((each.programs[side] for side in ("jax", "tf") if side in each.programs), None)
    work = machine_limits.work_of(part, program) if program else None
    return machine_limits.of_workload(sides, work, medians, limits, dispatch_s) if work else None
