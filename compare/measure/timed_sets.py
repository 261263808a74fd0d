"""Timing: fresh processes for every pair, both sides at once, identical code beside them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from compare.bench import pairs
from compare.bench.roofline import Work
from compare.bench.timing import SLOWDOWNS
from compare.inputs.at_size import Prepared
from compare.inputs.request import Plan
from compare.measure import machine_limits, used_threads
from compare.measure.timed_samples import Samples, control_of, is_narrow
from compare.progress import Reporter
from compare.prove.collect import Collected
from compare.record import timing_part
from compare.record.timing_part import Threads
from compare.record.workload_part import Failure, Workload
from compare.sides import requests
from compare.sides._side import SIDES, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.pool import Source, live_device
from compare.sides.renewal import changed_by
from compare.sides.replies import Changed
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet, failure_of
from workloads.core.device import Device
from workloads.core.modes import CELLS, IN_OTHER_PROCESSES, JAX, JAX_JIT, JAX_RETAINED, JAX_SYNCHRONOUS, Arm, Mode
from workloads.protocol.framework import Program

FILLING = 4
"""How often calls are counted before they count where memory is retained: the first ones still map it."""


@dataclass(frozen=True)
class Timed:
    """A workload whose parity holds, with what is needed to time it.

    Attributes:
      prepared: its arrays, at the size that is timed.
      modes: by side, peers among them.
      programs: by side, what is handed to XLA.
      work: what one call needs; None where nothing says how many operations.
      why_no_work: why that which is declared does not tell it.
      main_pass: what is timed.
      steps: of training in one call, by which times are divided.
    """

    prepared: Prepared
    modes: Mapping[str, Sequence[str]]
    programs: Mapping[str, Program]
    work: Work | None = None
    why_no_work: str = ""
    main_pass: str = ""
    steps: int = 1

    @property
    def name(self) -> str:
        """The workload's."""
        return self.prepared.workload.name


class Interrupted(KeyboardInterrupt):
    """The user ended the measurement; `samples` are those of the complete sets."""

    def __init__(self, samples: Mapping[str, Samples]) -> None:
        super().__init__()
        self.samples = samples


@dataclass(frozen=True)
class _Process:
    """One of a side's two processes, that of a peer, or one of the port's with other settings.

    Attributes:
      copy: its number; 1 and 2 are alike.
      instead: a mode of `workloads.core.modes.IN_OTHER_PROCESSES` that the port's `jit` is there; None: our settings.
    """

    side: str
    copy: int = 1
    instead: Mode | None = None

    def __str__(self) -> str:
        return self.side if self.copy == 1 else f"{self.side}#{self.copy}"


@dataclass(frozen=True)
class _Running:
    """A process that is up."""

    side: Side
    process: _Process


def prepare_timing(instance: Prepared, deliveries: Mapping[str, Collected], part: Workload) -> Timed:
    """Collect the modes of a workload to be timed, each distinct one once.

    Args:
      deliveries: by side, its programs and modes.
      part: of the record, which says what a call needs.
    """
    programs = {side: program for side, evidence in deliveries.items() if (program := evidence.portable) is not None}
    modes = {side: evidence.distinct_modes for side, evidence in deliveries.items()}
    program = programs.get("jax") or programs.get("tf")
    unfit = machine_limits.why_cost_is_unfit(part)
    work = machine_limits.work_of(part, program) if program and not unfit else None
    return Timed(instance, modes, programs, work, unfit, part.main_pass, part.unrolled or 1)


def measure(
    workloads: Sequence[Timed],
    sources: Mapping[str, Source],
    plan: Plan,
    scratch: Path,
    timeout_s: float,
    reporter: Reporter,
) -> dict[str, Samples]:
    """Time every workload in sets of fresh processes, as many as the plan allows and the nulls need.

    One process a side compiles everything first, which tells what that costs, and the sets that are timed share what
    it compiled: compiling took most of the time of a set. None of them compiles, so that all are alike.

    Args:
      sources: by side and peer, which interpreter stands for it.
      plan: how many processes, how long, in which order, on how many threads.
      timeout_s: seconds that one request may take.

    Raises:
      Interrupted: by Ctrl-C or SIGTERM.
    """
    samples = {workload.name: Samples() for workload in workloads}
    try:
        _measure_all(workloads, samples, sources, plan, scratch, timeout_s, reporter)
    except KeyboardInterrupt:
        raise Interrupted(samples) from None
    return samples


def _measure_all(
    workloads: Sequence[Timed],
    samples: Mapping[str, Samples],
    sources: Mapping[str, Source],
    plan: Plan,
    scratch: Path,
    timeout_s: float,
    reporter: Reporter,
) -> None:
    processes = {str(process): process for process in _processes(workloads, sources, plan)}
    device = live_device(sources)
    cache = Path(tempfile.mkdtemp(prefix="compiled-", dir=scratch))
    settings = Settings(plan.threads, compilation_cache=cache)

    def start(name: str, settings: Settings = settings) -> LiveSide:
        process = processes[name]
        source = sources[process.side]
        settings_here = replace(
            settings,
            device=source.device,
            retained_memory=process.instead == JAX_RETAINED,
            synchronous_dispatch=process.instead == JAX_SYNCHRONOUS,
        )
        return LiveSide(process.side, scratch, source.python, timeout_s, settings_here)

    # Their memory is reported, and a user's process imports everything too.
    start_whole = partial(start, settings=replace(settings, whole_imports=True))

    reporter.stage(f"compiling{_on(plan)}", len(workloads) + 1)
    reporter.step("starting")
    with WorkerSet(start_whole) as group:
        group.start(name for name, process in processes.items() if process.copy == 1 or process.instead)
        threads: Threads | None = None
        for before, workload in zip([None, *workloads], workloads, strict=False):
            reporter.step(workload.name)
            replacements = _replace(group, before)
            _ready(workload, _running(group.sides, processes), samples[workload.name], first=True)
            # Nothing but a user's own file sets threads once a process is up.
            if threads is None or replacements or not workload.prepared.loading.is_built_in:
                threads = _verified_threads(group.sides, samples[workload.name], plan, device)
            samples[workload.name].threads = threads
    for pair in range(plan.most_pairs):
        wanted_modes = [workload for workload in workloads if needs_more(samples[workload.name], plan, pair)]
        if not wanted_modes:
            break
        reporter.stage(_stage(pair, plan), len(wanted_modes) + 1)
        reporter.step("starting")
        with WorkerSet(start) as group:
            group.start(pairs.spawn_order(list(processes), pair, plan.seed))
            for before, workload in zip([None, *wanted_modes], wanted_modes, strict=False):
                reporter.step(workload.name)
                _replace(group, before)
                _measure_one(workload, _running(group.sides, processes), samples[workload.name], plan, pair)


def needs_more(samples: Samples, plan: Plan, count: int) -> bool:
    """Whether a workload needs another pair of processes: identical code decides, never a ratio.

    Args:
      plan: how many pairs, and the precision that identical code has to come to.
    """
    return count < plan.pairs or not is_narrow(samples, plan.precision)


def _replace(group: WorkerSet, before: Timed | None) -> list[str]:
    """Replace processes that ended, and those that the code of the workload before has changed; the names of both.

    Settings that one port makes would be timed in the next one.
    """
    names_ended = group.replace_lost()
    if before is None or before.prepared.loading.is_built_in:
        return names_ended
    names_changed = [name for name, side in group.sides.items() if changed_by(side) != Changed()]
    group.replace(names_changed)
    return [*names_ended, *names_changed]


def _processes(workloads: Sequence[Timed], sources: Mapping[str, Source], plan: Plan) -> list[_Process]:
    """Two processes of each live side, one of each peer that a workload has, and the port's with other settings."""
    sides = [name for name, source in sources.items() if source.recorded is None and name in SIDES]
    peers = dict.fromkeys(name for workload in workloads for name in workload.modes if name not in SIDES)
    beside = map(_Process, peers) if plan.peers else ()
    alike = [_Process(side, copy) for side in sides for copy in SLOWDOWNS]
    numbers = enumerate(plan.other_processes if JAX in sides else (), len(SLOWDOWNS) + 1)
    return [*alike, *beside, *(_Process(JAX, copy, mode) for copy, mode in numbers)]


def _running(group: Mapping[str, Side], processes: Mapping[str, _Process]) -> list[_Running]:
    return [_Running(side, processes[name]) for name, side in group.items()]


def _stage(pair: int, plan: Plan) -> str:
    more = "" if pair < plan.pairs else ", until the A/A interval is narrow"
    return f"timing{_on(plan)}, processes {pair + 1} of {plan.pairs if pair < plan.pairs else plan.most_pairs}{more}"


def _on(plan: Plan) -> str:
    return f" on {plan.threads} thread{'s' * (plan.threads > 1)}" if plan.threads else ""


def _verified_threads(group: Mapping[str, Side], samples: Samples, plan: Plan, device: Device) -> Threads | None:
    """The threads that the processes compute on; None where no number was asked for, or the probe failed."""
    if plan.threads is None:
        return None
    try:
        return used_threads.verify({name: group[name] for name in SIDES if name in group}, plan.threads, device)
    except SideError as error:
        samples.failures.append(failure_of(error, "threads"))
        return None


def _measure_one(workload: Timed, running: Sequence[_Running], samples: Samples, plan: Plan, pair: int) -> None:
    timers = _ready(workload, running, samples)
    per_call = pairs.measure(timers, budget_s=plan.budget_s, seed=plan.seed + pair, failing=SideError)
    # Only now: what fits into the budget is a matter of whole calls.
    results = per_step(per_call, workload.steps)
    samples.pairs.append(results)
    for arm, reason in results.failures.items():
        samples.failures.append(Failure(arm.side, f"timing {arm}", reason))


def _ready(
    workload: Timed, running: Sequence[_Running], samples: Samples, first: bool = False
) -> list[pairs.Timer[Arm]]:
    """The timers of a set of processes, each called twice; `first` keeps what it cost to get there.

    Then one process works at a time. Else nothing is measured here, and they get ready beside one another.
    """
    own = [process for process in running if process.side.name in workload.modes]  # no peer that another workload has
    with ThreadPoolExecutor(1 if first else max(1, len(own))) as pool:
        ready = pool.map(lambda process: _ready_one(process, workload, samples, first), own)
    return [timer for timers in ready for timer in timers]


def _ready_one(process: _Running, workload: Timed, samples: Samples, first: bool) -> list[pairs.Timer[Arm]]:
    side = process.side
    try:
        requests.load(side, workload.prepared.loading)
    except SideError as error:
        samples.failures.append(failure_of(error, "timing"))
        return []
    timers: list[pairs.Timer[Arm]] = []
    ready: set[str | int] = set()
    for arm, target in _targets(process, workload, samples):
        if not arm.slowdown and _prepare(side, arm, target, samples, first, workload.steps):
            ready.add(target)
        if target in ready:
            timers.append(pairs.Timer(arm, partial(requests.time_round, side, target, slowdown=arm.slowdown)))
    return timers


def _targets(process: _Running, workload: Timed, samples: Samples) -> Iterator[tuple[Arm, str | int]]:
    """The arms of one process, and what each asks it to run.

    The second of a side runs all that the first runs, or it would not be identical. So does one of other settings, of
    which one arm counts.

    A process that runs one mode of many is idle longer and finds its inputs cold: tf/jit alone in a
    process came out 8 % slower than the same code among its other modes.
    """
    side, copy, instead = process.side, process.process.copy, process.process.instead
    for name in workload.modes[side.name]:
        mode = Mode(side.name, name)
        yield Arm(instead) if instead and mode == JAX_JIT else Arm(mode, copy), name
        if side.name in SIDES and instead is None and mode == control_of(side.name, workload.modes[side.name]):
            yield Arm(mode, copy, SLOWDOWNS[copy]), name
    for cell in CELLS:
        if cell.compiler != side.name or cell.frontend not in workload.programs:
            continue
        try:
            yield Arm(cell, copy), requests.compile_program(side, workload.programs[cell.frontend]).handle
        except SideError as error:
            samples.failures.append(Failure(side.name, f"timing {cell}", error.reason))


def per_step(per_call: pairs.Measured[Arm], steps: int) -> pairs.Measured[Arm]:
    """The measurements of calls with `steps` training steps, as seconds of one step."""
    medians = {arm: tuple(seconds / steps for seconds in rounds) for arm, rounds in per_call.medians.items()}
    return replace(per_call, medians=medians)


def _prepare(side: Side, arm: Arm, target: str | int, samples: Samples, first: bool, steps: int) -> bool:
    try:
        phases = requests.prepare(side, target)
        if first:
            # What is compiled there was compiled before, by the process without other settings.
            own = {} if arm.code in IN_OTHER_PROCESSES else phases
            samples.phases[arm] = timing_part.Mode(**own, **_count(side, arm, target, steps))
    except SideError as error:
        samples.failures.append(Failure(side.name, f"timing {arm}", error.reason))
        return False
    return True


def _count(side: Side, arm: Arm, target: str | int, steps: int) -> dict[str, float]:
    """The growth of a process's counters in a call, per step; with retained memory, once it suffices."""
    for _ in range(FILLING if arm.code == JAX_RETAINED else 0):
        requests.counters(side, target)
    return {name: count / steps for name, count in requests.counters(side, target).items()}
