"""Examines what autoclustering makes of a workload, in fresh workers, beside the workload compiled whole by both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from compare import files
from compare.clusters import clustered_graph
from compare.clusters.log_lines import ClusteringLog, read_log
from compare.clusters.measured_share import MeasuredTimes, measure_times
from compare.hlo import stablehlo_text
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.compiled import CONTROL_FLOW
from compare.hlo.dumps import stages
from compare.hlo.dumps.directory import DumpedModule, modules
from compare.inputs.at_size import Prepared
from compare.progress import Reporter
from compare.prove.collect import choose_pass
from compare.record.clustering_part import Cluster, ClusteredGraph, Clustering, OneProgram
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet
from workloads.core.foreign import MEBIBYTE
from workloads.core.modes import JAX, TF
from workloads.protocol.framework import Clustered

STEPS = 3
"""Steps of the progress of one target: its clusters, then both whole programs."""

_WHOLE = "jit"
_A_SOURCE = files.Expected("a Python file", "check the path")
_MOST_SOURCE = 16 * MEBIBYTE

Found = TypeVar("Found")


@dataclass(frozen=True)
class Asked:
    """The workload of a clustering, and the interpreters.

    Without `whole` the workload is not compiled whole beside its clusters; without `jax` not by JAX.
    """

    instance: Prepared
    title: str
    pass_: str | None = None
    jax: bool = True
    pythons: Mapping[str, str | None] = field(default_factory=dict)
    timeout_s: float = 300
    whole: bool = True


def examine(request: Asked, scratch: Path, reporter: Reporter) -> Clustering:
    """The clusters of one workload.

    Raises:
      RequestError: the workload has no such pass.
      SideError: TensorFlow does not run it with autoclustering.
    """
    reporter.stage(f"{request.title}: clusters", STEPS if request.whole else 1)
    graphs, dump = scratch / "graphs", scratch / "dump"
    settings = {TF: Settings(clustering=graphs, dump=dump, reasons=True), JAX: Settings()}
    for folder in (graphs, dump):
        folder.mkdir(parents=True)

    def start(name: str) -> LiveSide:
        return LiveSide(name, scratch, request.pythons.get(name), request.timeout_s, settings[name])

    with WorkerSet(start) as workers:
        reporter.step("autoclustering")
        side = workers.get(TF)
        passes = requests.load(side, request.instance.loading)
        pass_ = choose_pass(passes, request.pass_, request.title)
        before = len(_log(side))
        ran = requests.clustered(side, pass_)
        log = read_log(_log(side)[before:].splitlines())
        clustering = _clustering(request, pass_, log, ran, dump)
        if not request.whole:
            return clustering
        reporter.step("compiled whole by TensorFlow")
        jit = _whole(side, pass_)
        reporter.step("compiled whole by JAX")
        jax = _loaded_whole(workers, request, pass_) if request.jax else None
    return replace(clustering, jit=jit, jax=jax)


def _log(side: Side) -> str:
    return side.log if isinstance(side, LiveSide) else ""


def _clustering(request: Asked, pass_: str, log: ClusteringLog, ran: Clustered, dump: Path) -> Clustering:
    times = measure_times(ran.calls)
    texts = texts_of(set(ran.sources.values()))
    graphs = [clustered_graph.clustered_graph(log, function, ran.sources, texts) for function in log.of_users]
    own = [graph for graph in graphs if graph.function == ran.function]
    graph = _with_times(own[0], times, _compiled_modules(dump)) if own else None
    return Clustering(
        name=request.title,
        size=request.instance.size,
        of_pass=pass_,
        graph=graph,
        others=tuple(other for other in graphs if other is not (own[0] if own else None)),
        minimum=clustered_graph.minimum(os.environ.get("TF_XLA_FLAGS", "")),
        time=times.split,
    )


def _with_times(graph: ClusteredGraph, times: MeasuredTimes, compiled: Mapping[str, DumpedModule]) -> ClusteredGraph:
    clusters = (replace(cluster, seconds=times.clusters.get(cluster.name)) for cluster in graph.clusters)
    return replace(graph, clusters=tuple(with_module(cluster, compiled) for cluster in clusters))


def with_module(cluster: Cluster, compiled: Mapping[str, DumpedModule]) -> Cluster:
    """A cluster with the size of the module that XLA compiled from it."""
    module = compiled.get(cluster.name)
    module_stages = stages.read_stages(module) if module else None
    if module_stages is None or module_stages.after is None:
        return cluster
    kernels = sum(step.opcode not in CONTROL_FLOW for step in module_stages.steps)
    return replace(cluster, instructions=module_stages.after.instructions, kernels=kernels)


def _compiled_modules(dump: Path) -> dict[str, DumpedModule]:
    """By cluster, the first module that XLA dumped of it."""
    try:
        return by_cluster(modules(dump))
    except UnreadableProgram:
        return {}  # nothing was compiled


def by_cluster(dump: Iterable[DumpedModule]) -> dict[str, DumpedModule]:
    """The first module of each cluster."""
    first: dict[str, DumpedModule] = {}
    for module in dump:
        if module.origin.cluster is not None:
            first.setdefault(module.function, module)
    return first


def texts_of(places: set[str]) -> dict[str, str]:
    """By FILE:LINE, the text of the line; without lines that cannot be read."""
    lines: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for place in sorted(places):
        file, _, number = place.rpartition(":")
        if file not in lines:
            lines[file] = _lines(Path(file))
        if number.isdecimal() and 0 < int(number) <= len(lines[file]):
            texts[place] = lines[file][int(number) - 1].strip()
    return texts


def _lines(file: Path) -> list[str]:
    try:
        return files.read(file, _A_SOURCE, _MOST_SOURCE).decode(errors="replace").splitlines()
    except files.FileError:
        return []


def _loaded_whole(workers: WorkerSet, request: Asked, pass_: str) -> OneProgram:
    try:
        side = workers.get(JAX)
        requests.load(side, request.instance.loading)
    except SideError as error:
        return OneProgram(reason=error.reason)
    return _whole(side, pass_)


def _whole(side: Side, pass_: str) -> OneProgram:
    """The pass as one program: what XLA is given, and what one call runs. A profile is of the main pass."""
    instructions, reason = _instructions(side, pass_)
    try:
        calls = requests.profile(side, _WHOLE)
    except SideError as error:
        return OneProgram(instructions=instructions, reason=reason or error.reason)
    return OneProgram(instructions=instructions, kernels=len(calls[-1]) if calls else None, reason=reason)


def _instructions(side: Side, pass_: str) -> tuple[int | None, str]:
    try:
        return stablehlo_text.describe(requests.program(side, pass_, "float32").artifact).instructions, ""
    except SideError as error:
        return None, error.reason
    except UnreadableProgram as error:
        return None, str(error)
