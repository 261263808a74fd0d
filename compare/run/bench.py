"""What a run measures once parity holds: ratios, and beside them threads, limits, dispatch, phases, batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compare.bench.phases import Dispatch
from compare.bench.roofline import Limits, Roofline
from compare.bench.threads import Threads
from compare.records import Failure
from compare.run import batches, phases, roofline, threads, timing
from compare.run.phases import Workers
from compare.run.progress import Reporter
from compare.run.request import Extras, Request
from compare.run.timing import Timed
from compare.sides import requests
from compare.sides._side import SIDES, Side, SideError
from compare.sides.client import LiveSide


@dataclass
class Inspection:
    """What live processes on one number of threads showed.

    `threads` is by workload, since a user's own file may have set them; `failures` likewise.
    """

    threads: dict[str, Threads] = field(default_factory=dict)
    limits: Limits | None = None
    rooflines: dict[str, Roofline | None] = field(default_factory=dict)
    failures: dict[str, list[Failure]] = field(default_factory=dict)

    def doubt(self, workload: str) -> str:
        """Why ratios cannot be trusted; empty where both sides used the threads that were asked for."""
        found = self.threads.get(workload)
        if found is None:
            return "the threads of the two sides could not be verified"
        return "" if found.equal else found.reason


def time_all(
    request: Request, to_time: Sequence[Timed], parts: dict[str, Any], scratch: Path, reporter: Reporter
) -> dict[str, Any]:
    """Add to every part what time tells of it; what it tells of the machine."""
    own = {name: request.sources[name] for name in SIDES}
    main = Workers(own, scratch, request.timeout_s, request.plans[0].threads)
    dispatch, failures = phases.dispatch(main, request.extras.dispatch)
    limits = {}
    for plan in request.plans:
        samples = timing.measure(to_time, request.sources_with_peers(), plan, scratch, request.timeout_s, reporter)
        inspection = Inspection()
        if plan.threads is not None:
            is_main = plan is request.plans[0]
            medians = {name: timing.medians(measured) for name, measured in samples.items() if is_main}
            workers = dataclasses.replace(main, threads=plan.threads)
            wanted = dispatch if request.extras.limits else None
            inspection = inspect(to_time, parts, medians, wanted, workers, reporter)
            limits[str(plan.threads)] = inspection.limits
        for name, measured in samples.items():
            _add_timing(request, plan, parts[name], name, measured, inspection)
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
    plan: timing.Plan,
    part: dict[str, Any],
    name: str,
    measured: timing.Samples,
    inspection: Inspection,
) -> None:
    recorded = [side for side, source in request.sources.items() if source.recorded is not None]
    doubt = inspection.doubt(name) if plan.threads is not None else ""
    found = timing.summarise(measured, recorded, doubt, inspection.threads.get(name))
    if plan is request.plans[0]:
        part |= found | {"roofline": inspection.rooflines.get(name)}
    if len(request.plans) > 1:
        part["by_threads"][str(plan.threads)] = found["timing"]
    part["failures"] += [*measured.failures, *inspection.failures.get(name, ())]


def inspect(
    workloads: Sequence[Timed],
    parts: Mapping[str, Mapping[str, Any]],
    medians: Mapping[str, Mapping[str, float]],
    dispatch: Mapping[str, Dispatch] | None,
    workers: Workers,
    reporter: Reporter,
) -> Inspection:
    """Whether both sides use the threads asked for, the machine's limits on so many, and each workload's share.

    Asks one process a side, loaded with one workload after the other.

    Args:
      parts: of the record, by workload.
      medians: seconds of a call by workload and mode; a workload that is not among them gets no share.
      dispatch: what a call costs at least, by mode; None measures no limits.
    """
    found = Inspection()
    asked = workers.threads
    assert asked is not None, "there is nothing to verify where threads are left to the frameworks"
    least = min((one.public_s for one in (dispatch or {}).values()), default=None)
    reporter.stage(f"threads and limits on {asked} thread{'s' * (asked > 1)}", len(workloads))
    with ExitStack() as stack:
        sides: dict[str, Side] = {}
        for each in workloads:
            name = each.prepared.workload.name
            reporter.step(name)
            try:
                _renew(sides, stack, workers)
                for side in sides.values():
                    requests.load(side, each.prepared.loading)
                found.threads[name] = threads.verify(sides, asked)
                if dispatch is not None:
                    found.limits = found.limits or roofline.measure_machine(sides, asked)
                if found.limits is not None and name in medians:
                    found.rooflines[name] = _place(sides, each, parts[name], medians[name], found.limits, least)
            except SideError as error:
                found.failures.setdefault(name, []).append(Failure(error.side, f"limits: {error.doing}", error.reason))
    return found


def measure_phases(
    workloads: Sequence[Timed], parts: Mapping[str, dict[str, Any]], repeats: int, workers: Workers, reporter: Reporter
) -> None:
    """Add `phases` to each part."""
    for each in workloads:
        part = parts[each.prepared.workload.name]
        part["phases"], failures = phases.measure(each.prepared, each.modes, workers, reporter, repeats)
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
        found, failures = batches.measure(
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
    work = roofline.work_of(part, program) if program else None
    return roofline.of_workload(sides, work, medians, limits, dispatch_s) if work else None
