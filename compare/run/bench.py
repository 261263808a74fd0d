"""What a run measures beside ratios: threads as they are, the machine's limits, dispatch, phases, batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from compare.bench.phases import Dispatch
from compare.bench.roofline import Limits, Roofline
from compare.bench.threads import Threads
from compare.records import Failure
from compare.run import batches, phases, roofline, threads
from compare.run.phases import Workers
from compare.run.progress import Reporter
from compare.run.timing import Timed
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide

Result = TypeVar("Result")


@dataclass(frozen=True)
class Extras:
    """What to measure beside ratios. The default is what costs seconds.

    Attributes:
      limits: of the machine, and each workload's share of the one that binds it.
      dispatch: processes that the cost of a call which does next to nothing is measured in.
      phases: processes that each median of the phases is taken over; 0 measures none.
      batches: sizes of the batch, for workloads that train; none measures none.
      memory_limit: bytes, for the largest batch under it.
      peers: other ways to run the original in JAX, as further arms.
    """

    limits: bool = True
    dispatch: int = 1
    phases: int = 0
    batches: Sequence[int] = ()
    memory_limit: int = 1 << 30
    peers: bool = False


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
      medians: seconds of a call by workload and mode.
      dispatch: what a call costs at least, by mode; None measures no limits.
    """
    found = Inspection()
    asked = workers.threads
    assert asked is not None, "there is nothing to verify where threads are left to the frameworks"
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
                    least = min((one.public_s for one in dispatch.values()), default=None)
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
