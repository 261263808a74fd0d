"""Collects the program of one side that is compiled and timed, its stages, and a profile of each mode."""

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
from workloads.core.modes import TF_AUTOCLUSTER, TF_GRAPH
from workloads.protocol.framework import STEP, Program

GRAPH, AUTOCLUSTER = str(TF_GRAPH), str(TF_AUTOCLUSTER)


def collect_program(side: Side, instance: Prepared, delivery: Collected, reporter: Reporter, reload: bool) -> None:
    """Ask a side for the program that is compiled and timed, and for a profile of each mode.

    Args:
      reload: whether the side has another size loaded: parity was judged on smaller arrays.
    """

    def ask() -> None:
        if reload:
            requests.load(side, instance.loading)
        reporter.detail(f"{side.name} program")
        program = None if reload else delivery.programs.get((delivery.main_pass, FLOAT32))
        delivery.main = program or attempt(delivery, lambda: requests.program(side, delivery.main_pass, FLOAT32))
        _make_portable(delivery)
        delivery.stages = attempt(delivery, lambda: requests.stages(side)) or {}
        if delivery.main_pass == STEP:
            delivery.donation = attempt(delivery, lambda: requests.donation(side))
        _collect_profiles(side, delivery, reporter)

    survive(delivery, ask)


def _make_portable(delivery: Collected) -> None:
    if delivery.main is None:
        return
    try:
        delivery.portable = dataclasses.replace(delivery.main, artifact=portable(delivery.main.artifact))
    except UnreadableProgram as error:
        delivery.failures.append(Failure(delivery.side, "read program", str(error)))
        delivery.main = None


def _collect_profiles(side: Side, delivery: Collected, reporter: Reporter) -> None:
    for mode in delivery.modes.get(delivery.main_pass, ()):
        reporter.detail(f"{side.name}/{mode} profile")
        try:
            delivery.profile[f"{side.name}/{mode}"] = _profile_mode(side, mode, delivery.main)
        except SideError as error:
            if error.lost:
                raise
            delivery.profile[f"{side.name}/{mode}"] = Profile(reason=error.reason)
    _note_idle(delivery.profile)


def _note_idle(profiles: dict[str, Profile]) -> None:
    """Autoclustering that compiled nothing is graph mode: the same kernels of TensorFlow's, under the same names."""
    cluster, graph = profiles.get(AUTOCLUSTER, Profile()), profiles.get(GRAPH, Profile())
    if cluster.names and cluster.names == graph.names:
        profiles[AUTOCLUSTER] = replace(cluster, same_as=GRAPH)


def _profile_mode(side: Side, mode: str, program: Program | None) -> Profile:
    profile = kernel_times.profile(requests.profile(side, mode))
    kernels = kernel_times.located_operations(profile.times, program.sources if program else {})
    return Profile(
        kernels=profile.kernels,
        names=profile.names,
        seconds=profile.seconds,
        times=kernel_parts.times(kernels),
        small_runs=kernel_parts.small_runs(profile, kernels),
    )
