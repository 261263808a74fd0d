"""What one side says of the program that is compiled and timed: it, its stages, and a profile of each mode."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from compare.hlo import kernel_times
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.portable import portable
from compare.inputs.at_size import Prepared
from compare.progress import Reporter
from compare.prove import kernel_parts
from compare.prove.collect import FLOAT32, Collected, attempt, survive
from compare.record.program_parts import Profile
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import Side, SideError
from workloads._framework import STEP, Program
from workloads._modes import TF_AUTOCLUSTER, TF_GRAPH

GRAPH, AUTOCLUSTER = str(TF_GRAPH), str(TF_AUTOCLUSTER)


def collect_program(side: Side, prepared: Prepared, collected: Collected, reporter: Reporter, reload: bool) -> None:
    """Ask a side for the program that is compiled and timed, and for a profile of each mode.

    Args:
      side: who is asked.
      prepared: the workload at the size that is timed.
      collected: gets what the side delivers.
      reporter: told of every step.
      reload: whether the side has another size loaded: parity was judged on smaller arrays.
    """

    def ask() -> None:
        if reload:
            requests.load(side, prepared.loading)
        reporter.step(f"{side.name} program")
        kept = None if reload else collected.programs.get((collected.main_pass, FLOAT32))
        collected.main = kept or attempt(collected, lambda: requests.program(side, collected.main_pass, FLOAT32))
        _make_portable(collected)
        collected.stages = attempt(collected, lambda: requests.stages(side)) or {}
        if collected.main_pass == STEP:
            collected.donation = attempt(collected, lambda: requests.donation(side))
        _collect_profiles(side, collected, reporter)

    survive(collected, ask)


def _make_portable(collected: Collected) -> None:
    if collected.main is None:
        return
    try:
        collected.portable = dataclasses.replace(collected.main, artifact=portable(collected.main.artifact))
    except UnreadableProgram as error:
        collected.failures.append(Failure(collected.side, "read program", str(error)))
        collected.main = None


def _collect_profiles(side: Side, collected: Collected, reporter: Reporter) -> None:
    for mode in collected.modes.get(collected.main_pass, ()):
        reporter.step(f"{side.name}/{mode} profile")
        try:
            collected.profile[f"{side.name}/{mode}"] = _profiled(side, mode, collected.main)
        except SideError as error:
            if error.lost:
                raise
            collected.profile[f"{side.name}/{mode}"] = Profile(reason=error.reason)
    _note_idle(collected.profile)


def _note_idle(profiles: dict[str, Profile]) -> None:
    """Autoclustering that compiled nothing is graph mode: the same kernels of TensorFlow's, under the same names."""
    cluster, graph = profiles.get(AUTOCLUSTER, Profile()), profiles.get(GRAPH, Profile())
    if cluster.names and cluster.names == graph.names:
        profiles[AUTOCLUSTER] = replace(cluster, same_as=GRAPH)


def _profiled(side: Side, mode: str, program: Program | None) -> Profile:
    profile = kernel_times.profile(requests.profile(side, mode))
    located = kernel_times.located_operations(profile.times, program.sources if program else {})
    return Profile(
        kernels=profile.kernels,
        names=profile.names,
        seconds=profile.seconds,
        times=kernel_parts.times(located),
        small_runs=kernel_parts.small_runs(profile, located),
    )
