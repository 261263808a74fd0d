"""Timing: fresh processes for every pair, both sides at once, identical code beside them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from compare.bench import pairs, timing
from compare.bench.attribution import attribute
from compare.bench.threads import Threads
from compare.inputs.at_size import Prepared
from compare.inputs.request import Plan
from compare.measure import used_threads
from compare.progress import Reporter
from compare.prove.cells import split
from compare.prove.collect import Collected
from compare.record.vocabulary import CELLS
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import SIDES, Side, SideError
from compare.sides.client import LiveSide, close_all
from compare.sides.pool import Source
from compare.sides.settings import Settings
from workloads._framework import Program

NULL_SUFFIX = "#2"
NULL_MODES = ("jit", "graph", "autocluster", "eager")
"""The first of these that was timed is held against itself: its two processes ran identical code."""

SLOWDOWNS = {"": 0.05, NULL_SUFFIX: 0.10}
"""Planted in each process of a side, to show what the run can see; one in each, so that both stay alike."""


@dataclass(frozen=True)
class Timed:
    """A workload whose parity holds, with what is needed to time it; `modes` by side, peers among them."""

    prepared: Prepared
    modes: Mapping[str, Sequence[str]]
    programs: Mapping[str, Program]


@dataclass
class Samples:
    """What was measured of one workload; `phases` and `threads` by the processes that compiled it."""

    pairs: list[pairs.Measured] = field(default_factory=list)
    phases: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    threads: Threads | None = None
    failures: list[Failure] = field(default_factory=list)


class Interrupted(KeyboardInterrupt):
    """Who asked for times wants no more of them; `samples` are those of the sets that were complete."""

    def __init__(self, samples: Mapping[str, Samples]) -> None:
        super().__init__()
        self.samples = samples


@dataclass(frozen=True)
class _Target:
    """What an arm asks its process to run."""

    target: str | int
    slowdown: float = 0.0


def timed(prepared: Prepared, collected: Mapping[str, Collected]) -> Timed:
    """What a workload brings to the timing: its modes, but for those that are another one of them."""
    programs = {side: program for side, each in collected.items() if (program := each.portable) is not None}
    modes = {side: each.distinct_modes for side, each in collected.items()}
    return Timed(prepared, modes, programs)


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

    Raises:
      Interrupted: by Ctrl-C or SIGTERM.
    """
    samples = {_name(each): Samples() for each in workloads}
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
    names = _process_names(workloads, sources, plan)
    cache = Path(tempfile.mkdtemp(prefix="compiled-", dir=scratch))
    settings = Settings(plan.threads, compilation_cache=cache)

    def start(name: str) -> LiveSide:
        side = _side(name)
        return LiveSide(side, scratch, sources[side].python, timeout_s, settings)

    reporter.stage(f"compiling{_on(plan)}", len(workloads) + 1)
    reporter.step("starting")
    with _started([name for name in names if not name.endswith(NULL_SUFFIX)], start) as group:
        for each in workloads:
            reporter.step(_name(each))
            _replace_lost(group, start)
            _ready(each, group, samples[_name(each)], first=True)
            _verify_threads(group, samples[_name(each)], plan)
    for pair in range(plan.most_pairs):
        wanted = [each for each in workloads if pair < plan.pairs or not _narrow(samples[_name(each)], plan.precision)]
        if not wanted:
            break
        reporter.stage(_stage(pair, plan), len(wanted) + 1)
        reporter.step("starting")
        with _started(pairs.spawn_order(names, pair, plan.seed), start) as group:
            for each in wanted:
                reporter.step(_name(each))
                _replace_lost(group, start)
                _measure_one(each, group, samples[_name(each)], plan, pair)


def medians(samples: Samples) -> dict[str, float]:
    """Seconds of a call by mode, as a user runs it."""
    taken = pairs.samples_of(samples.pairs)
    return {
        arm: timing.median(each) for arm, each in taken.items() if _is_public(arm) and arm not in CELLS and any(each)
    }


def summarise(samples: Samples, recorded: Sequence[str], asked: int | None = None) -> dict[str, Any]:
    """The record's timing and attribution of one workload, ratios withheld unless both sides used the threads asked."""
    taken = pairs.samples_of(samples.pairs)
    modes = _null_modes(taken)
    planted = [each for side, mode in modes.items() for each in _planted(side, mode) if each.arm in taken]
    nulls = {f"{side}/{mode}": f"{side}/{mode}{NULL_SUFFIX}" for side, mode in modes.items() if side not in recorded}
    kept = {*nulls.values(), *(each.arm for each in planted)}
    phases = {arm: timing.Phases(**seen) for arm, seen in samples.phases.items() if arm not in CELLS}
    rounds = {arm: each for arm, each in taken.items() if _is_public(arm) or arm in kept}
    doubt = "" if asked is None else _doubt(samples.threads)
    result = timing.summarise(rounds, phases, nulls, planted, doubt, samples.threads)
    cells = {cell: timed.median_s for cell, timed in result.cells.items()}
    public = result.ratios.get("jax/jit vs tf/jit")
    # The published ratio is what is split: the factors' product is that number and no other.
    attribution = attribute(cells, 1.0, public.ratio) if public and public.ratio else None
    return {"timing": result, "attribution": attribution}


def _doubt(found: Threads | None) -> str:
    if found is None:
        return "the threads of the two sides could not be verified"
    return "" if found.equal else found.reason


@contextmanager
def _started(names: Sequence[str], start: Callable[[str], LiveSide]) -> Iterator[dict[str, LiveSide]]:
    """A set of processes, started in this order; whatever stands in it at the end is closed."""
    group: dict[str, LiveSide] = {}
    try:
        for name in names:
            group[name] = start(name)
        yield group
    finally:
        close_all(group.values())


def _process_names(workloads: Sequence[Timed], sources: Mapping[str, Source], plan: Plan) -> list[str]:
    """Two processes of each live side, and one of each peer that a workload has."""
    sides = [name for name, source in sources.items() if source.recorded is None and name in SIDES]
    peers = dict.fromkeys(name for each in workloads for name in each.modes if name not in SIDES)
    return [name + suffix for name in sides for suffix in ("", NULL_SUFFIX)] + list(peers) * plan.peers


def _stage(pair: int, plan: Plan) -> str:
    more = "" if pair < plan.pairs else ", for nulls that are still wide"
    return f"timing{_on(plan)}, processes {pair + 1} of {plan.pairs if pair < plan.pairs else plan.most_pairs}{more}"


def _on(plan: Plan) -> str:
    return f" on {plan.threads} thread{'s' * (plan.threads > 1)}" if plan.threads else ""


def _narrow(samples: Samples, precision: float) -> bool:
    """Whether identical code comes out close enough to itself; a null that cannot be had waits for nothing."""
    taken = pairs.samples_of(samples.pairs)
    for side, mode in _null_modes(taken).items():
        null = timing.paired(taken, f"{side}/{mode}", f"{side}/{mode}{NULL_SUFFIX}")
        if null is not None and null.half_width > precision:
            return False
    return True


def _verify_threads(group: Mapping[str, Side], samples: Samples, plan: Plan) -> None:
    if plan.threads is None:
        return
    try:
        samples.threads = used_threads.verify({name: group[name] for name in SIDES if name in group}, plan.threads)
    except SideError as error:
        samples.failures.append(Failure(error.side, f"threads: {error.doing}", error.reason))


def _replace_lost(group: dict[str, LiveSide], start: Callable[[str], LiveSide]) -> None:
    for name in [name for name, side in group.items() if not side.alive]:
        group[name].close()
        group[name] = start(name)


def _measure_one(each: Timed, group: Mapping[str, Side], samples: Samples, plan: Plan, pair: int) -> None:
    arms = _ready(each, group, samples)
    measured = pairs.measure(arms, budget_s=plan.budget_s, seed=plan.seed + pair, failing=SideError)
    samples.pairs.append(measured)
    for arm, reason in measured.failures.items():
        samples.failures.append(Failure(_side_of(arm), f"timing {arm}", reason))


def _ready(each: Timed, group: Mapping[str, Side], samples: Samples, first: bool = False) -> list[pairs.Arm]:
    """The arms of a set of processes, each called twice; `first` keeps what it cost to get there.

    Then one process works at a time. Else nothing is measured here, and they get ready beside one another.
    """
    own = [name for name, side in group.items() if side.name in each.modes]  # no peer that another workload has
    with ThreadPoolExecutor(1 if first else max(1, len(own))) as pool:
        ready = pool.map(lambda name: _ready_one(name, group[name], each, samples, first), own)
    return [arm for arms in ready for arm in arms]


def _ready_one(name: str, side: Side, each: Timed, samples: Samples, first: bool) -> list[pairs.Arm]:
    try:
        requests.load(side, each.prepared.loading)
    except SideError as error:
        samples.failures.append(Failure(side.name, f"timing: {error.doing}", error.reason))
        return []
    arms: list[pairs.Arm] = []
    ready: set[str | int] = set()
    for arm, asked in _targets(name, side, each, samples):
        if not asked.slowdown and _prepare(side, arm, asked.target, samples, first):
            ready.add(asked.target)
        if asked.target in ready:
            time = partial(requests.time_round, side, asked.target, slowdown=asked.slowdown)
            arms.append(pairs.Arm(arm, time))
    return arms


def _targets(name: str, side: Side, each: Timed, samples: Samples) -> Iterator[tuple[str, _Target]]:
    """The arms of one process. The second of a side runs all that the first runs, or it would not be identical.

    A process that runs one mode of many is idle longer and finds its inputs cold: tf/jit alone in a
    process came out 8 % slower than the same code among its other modes.
    """
    suffix = name.removeprefix(side.name)
    for mode in each.modes[side.name]:
        yield f"{side.name}/{mode}{suffix}", _Target(mode)
        if side.name in SIDES and mode == _first_null_mode(each.modes[side.name]):
            yield _slowed(side.name, mode, suffix), _Target(mode, SLOWDOWNS[suffix])
    for cell in CELLS:
        frontend, compiler = split(cell)
        if compiler != side.name or frontend not in each.programs:
            continue
        try:
            yield cell + suffix, _Target(requests.compile_program(side, each.programs[frontend]).handle)
        except SideError as error:
            samples.failures.append(Failure(side.name, f"timing {cell}", error.reason))


def _prepare(side: Side, arm: str, target: str | int, samples: Samples, first: bool) -> bool:
    try:
        phases = requests.prepare(side, target)
        if first:
            samples.phases[arm] = phases | {"page_faults": requests.page_faults(side, target)}
    except SideError as error:
        samples.failures.append(Failure(side.name, f"timing {arm}", error.reason))
        return False
    return True


def _null_modes(taken: timing.Samples) -> dict[str, str]:
    """By side, the mode that is held against itself: the first that was timed at all."""
    timed = {side: [mode for mode in NULL_MODES if any(taken.get(f"{side}/{mode}", ()))] for side in SIDES}
    return {side: mode for side, modes in timed.items() if (mode := _first_null_mode(modes))}


def _first_null_mode(modes: Sequence[str]) -> str:
    return next((mode for mode in NULL_MODES if mode in modes), "")


def _planted(side: str, mode: str) -> list[timing.Planted]:
    """What was planted in each process, held against the other."""
    other = {"": NULL_SUFFIX, NULL_SUFFIX: ""}
    return [
        timing.Planted(_slowed(side, mode, suffix), f"{side}/{mode}", f"{side}/{mode}{other[suffix]}", part)
        for suffix, part in SLOWDOWNS.items()
    ]


def _slowed(side: str, mode: str, suffix: str) -> str:
    return f"{side}/{mode}{suffix}+{SLOWDOWNS[suffix]:.0%}"


def _is_public(arm: str) -> bool:
    """Whether an arm is a mode or cell as a user runs it: neither a second process nor a slowed one."""
    return NULL_SUFFIX not in arm and "+" not in arm


def _name(each: Timed) -> str:
    return each.prepared.workload.name


def _side(name: str) -> str:
    return name.removesuffix(NULL_SUFFIX)


def _side_of(arm: str) -> str:
    """Whose process ran an arm: a mode's side, a cell's compiler."""
    name = arm.partition(NULL_SUFFIX)[0].partition("+")[0]
    return split(name)[1] if "@" in name else name.partition("/")[0]
