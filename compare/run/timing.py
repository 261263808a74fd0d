"""Timing: fresh processes for every pair, both sides at once, identical code beside them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from compare.bench import pairs, timing
from compare.hlo.attribution import attribute
from compare.records import CELLS, Failure
from compare.run.cells import split
from compare.run.collect import Collected
from compare.run.inputs import Prepared
from compare.run.progress import Reporter
from compare.run.sides import Source
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide
from workloads._framework import Program

NULL_SUFFIX = "#2"
NULL_MODES = {"tf": "jit", "jax": "jit"}
"""The mode whose two processes, of identical code, are held against each other."""

PHASES = ("first_call_s", "trace_s", "compile_s", "peak_rss_bytes")


@dataclass(frozen=True)
class Timed:
    """A workload whose parity holds, with what is needed to time it."""

    prepared: Prepared
    modes: Mapping[str, Sequence[str]]
    programs: Mapping[str, Program]


@dataclass
class Samples:
    """What was measured of one workload."""

    pairs: list[pairs.Measured] = field(default_factory=list)
    phases: dict[str, list[Mapping[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    failures: list[Failure] = field(default_factory=list)


def timed(prepared: Prepared, collected: Mapping[str, Collected]) -> Timed:
    """What a workload brings to the timing."""
    programs = {side: program for side, each in collected.items() if (program := each.portable) is not None}
    modes = {side: each.modes.get(each.main_pass, ()) for side, each in collected.items()}
    return Timed(prepared, modes, programs)


def measure(
    workloads: Sequence[Timed],
    sources: Mapping[str, Source],
    pair_count: int,
    budget_s: float,
    seed: int,
    scratch: Path,
    timeout_s: float,
    reporter: Reporter,
) -> dict[str, Samples]:
    """Time every workload in `pair_count` sets of fresh processes; `budget_s` seconds a workload and pair."""
    samples = {each.prepared.workload.name: Samples() for each in workloads}
    live = [name for name, source in sources.items() if source.recorded is None]
    names = [name + suffix for name in live for suffix in ("", NULL_SUFFIX)]

    def start(name: str) -> LiveSide:
        return LiveSide(_side(name), scratch, sources[_side(name)].python, timeout_s)

    for pair in range(pair_count):
        reporter.stage(f"timing, processes {pair + 1} of {pair_count}", len(workloads) + 1)
        reporter.step("starting")
        group: dict[str, LiveSide] = {}
        try:
            for name in pairs.spawn_order(names, pair, seed):
                group[name] = start(name)
            for each in workloads:
                reporter.step(each.prepared.workload.name)
                _measure_one(each, group, samples[each.prepared.workload.name], budget_s, seed + pair)
                for name in [name for name, side in group.items() if not side.alive]:
                    group[name].close()
                    group[name] = start(name)
        finally:
            for side in group.values():
                side.close()
    return samples


def summarise(samples: Samples, recorded: Sequence[str]) -> dict[str, Any]:
    """The record's timing and attribution of one workload."""
    taken = pairs.samples_of(samples.pairs)
    phases = {
        arm: timing.Phases(**{key: _median([each[key] for each in seen]) for key in PHASES})
        for arm, seen in samples.phases.items()
        if not arm.endswith(NULL_SUFFIX) and arm not in CELLS
    }
    nulls = {
        f"{side}/{mode}": f"{side}/{mode}{NULL_SUFFIX}" for side, mode in NULL_MODES.items() if side not in recorded
    }
    rounds = {arm: each for arm, each in taken.items() if not arm.endswith(NULL_SUFFIX) or arm in nulls.values()}
    result = timing.summarise(rounds, phases, nulls)
    cells = {cell: timed.median_s for cell, timed in result.cells.items()}
    public = result.ratios.get("jax/jit vs tf/jit")
    # The published ratio is what is split: the factors' product is that number and no other.
    attribution = attribute(cells, 1.0, public.ratio) if public and public.ratio else None
    return {"timing": result, "attribution": attribution}


def _measure_one(each: Timed, group: Mapping[str, Side], samples: Samples, budget_s: float, seed: int) -> None:
    arms: list[pairs.Arm] = []
    for name, side in group.items():
        try:
            requests.load(side, each.prepared.loading)
        except SideError as error:
            samples.failures.append(Failure(side.name, f"timing: {error.doing}", error.reason))
            continue
        for arm, target in _targets(name, side, each, samples):
            ready = _prepare(side, arm, target, samples)
            if ready:
                arms.append(pairs.Arm(arm, partial(requests.time_round, side, target)))
    measured = pairs.measure(arms, budget_s=budget_s, seed=seed, failing=SideError)
    samples.pairs.append(measured)
    for arm, reason in measured.failures.items():
        samples.failures.append(Failure(_side_of(arm), f"timing {arm}", reason))


def _targets(name: str, side: Side, each: Timed, samples: Samples) -> list[tuple[str, str | int]]:
    """The arms of one process. The second of a side runs all that the first runs, or it would not be identical.

    A process that runs one mode of many is idle longer and finds its inputs cold: tf/jit alone in a
    process came out 8 % slower than the same code among its other modes.
    """
    suffix = name.removeprefix(side.name)
    targets: list[tuple[str, str | int]] = [
        (f"{side.name}/{mode}{suffix}", mode) for mode in each.modes.get(side.name, ())
    ]
    for cell in CELLS:
        frontend, compiler = split(cell)
        if compiler != side.name or frontend not in each.programs:
            continue
        try:
            targets.append((cell + suffix, requests.compile_program(side, each.programs[frontend]).handle))
        except SideError as error:
            samples.failures.append(Failure(side.name, f"timing {cell}", error.reason))
    return targets


def _prepare(side: Side, arm: str, target: str | int, samples: Samples) -> bool:
    try:
        samples.phases[arm].append(requests.prepare(side, target))
    except SideError as error:
        samples.failures.append(Failure(side.name, f"timing {arm}", error.reason))
        return False
    return True


def _side(name: str) -> str:
    return name.removesuffix(NULL_SUFFIX)


def _side_of(arm: str) -> str:
    """Whose process ran an arm: a mode's side, a cell's compiler."""
    name = _side(arm)
    return split(name)[1] if "@" in name else name.partition("/")[0]


def _median(values: Sequence[float | None]) -> Any:
    present = [value for value in values if value is not None]
    return statistics.median(present) if present else None
