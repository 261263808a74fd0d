"""Runs a program of the user's own with TensorFlow's dump flags, and reads the graphs, clusters and modules."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from compare.clusters.clustered_graph import clustered_graph, put_together
from compare.clusters.graph_file import read_graph
from compare.clusters.log_lines import ClusteringLog, LoggedFunction, is_of_clustering, read_log
from compare.errors import RequestError
from compare.files import FileError
from compare.hlo.bindings import QUIETED, UnreadableProgram
from compare.hlo.dumps.directory import DumpedModule, modules
from compare.prove import observing
from compare.prove.clustering import by_cluster, texts_of, with_module
from compare.record.clustering_part import ClusteredGraph, CompiledName, Launched
from compare.record.envelope import SCHEMA
from compare.sides import clustering_variables
from compare.sides.clustering_variables import QUIETEST
from compare.sides.launched import Ended, run_program, severity

GRAPHS, DUMP, LOG = "graphs", "xla", "tensorflow.log"
"""Names in the folder of a launch."""

AUTO_JIT = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"
_XLA_DUMP = "--xla_dump_to"


@dataclass(frozen=True)
class Launch:
    """The command to run, the folder for its dumps, and whether autoclustering is switched on for it.

    `profile_s` says for how many seconds it profiles itself at most; None not at all.
    """

    command: Sequence[str]
    folder: Path
    auto_jit: bool = False
    profile_s: float | None = None


def variables(launch: Launch, environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The variables that the program gets beside the user's own, and notes on those of the user's that they replace."""
    folder = launch.folder.resolve()
    settings = clustering_variables.variables(folder / GRAPHS, environment)
    if launch.auto_jit:
        settings["TF_XLA_FLAGS"] = f"{settings['TF_XLA_FLAGS']} {AUTO_JIT}"
    settings["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} {_XLA_DUMP}={folder / DUMP}".strip()
    if launch.profile_s is not None:
        settings |= observing.prepare(launch.folder, launch.profile_s, environment)
    return settings, list(_conflicts(launch, environment))


def _conflicts(launch: Launch, environment: Mapping[str, str]) -> Iterable[str]:
    if "TF_DUMP_GRAPH_PREFIX" in environment:
        yield f"TF_DUMP_GRAPH_PREFIX={environment['TF_DUMP_GRAPH_PREFIX']} was replaced: graphs are in {launch.folder}"
    if _XLA_DUMP in environment.get("XLA_FLAGS", ""):
        yield f"--xla_dump_to of your XLA_FLAGS was replaced: XLA's dump is in {launch.folder}"
    if launch.auto_jit and "--tf_xla_auto_jit" in environment.get("TF_XLA_FLAGS", ""):
        yield "--tf_xla_auto_jit of your TF_XLA_FLAGS was replaced by --auto-jit"
    if environment.get(QUIETEST, "0") != "0":
        level, log = environment[QUIETEST], launch.folder / LOG
        yield f"{QUIETEST}={level} was replaced by 0: lines below that are in {log} alone"


def run(launch: Launch) -> Launched:
    """Run the program and read what it left.

    Raises:
      RequestError: there is no such program.
    """
    if shutil.which(launch.command[0]) is None:
        raise RequestError(
            f"expected a program at {launch.command[0]!r}, found no executable file: check the command after --"
        )
    for folder in (launch.folder / GRAPHS, launch.folder / DUMP):
        folder.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if name != QUIETEST or not QUIETED}
    settings, conflicts = variables(launch, environment)
    quietest = environment.get(QUIETEST, "0")
    lowest = int(quietest) if quietest.isdecimal() else 0

    def is_hidden(line: bytes) -> bool:
        text = line.decode(errors="replace")
        of_profile = launch.profile_s is not None and observing.is_of_profiler(text)
        return severity(line) < lowest or is_of_clustering(text) or of_profile

    end = run_program(launch.command, {**environment, **settings}, launch.folder / LOG, is_hidden)
    return read(launch, end, settings, conflicts)


def read(launch: Launch, end: Ended, settings: Mapping[str, str], conflicts: Sequence[str]) -> Launched:
    """Read what a program left."""
    text = (launch.folder / LOG).read_text(errors="replace")
    log = read_log(text.splitlines())
    dump = _modules(launch.folder / DUMP)
    observation = observing.read(launch.folder) if launch.profile_s is not None else observing.Observed()
    graphs, read_errors = _graphs(log, launch.folder / GRAPHS, observation)
    compiled = by_cluster(dump)
    return Launched(
        schema=SCHEMA,
        command=tuple(launch.command),
        exit_code=end.exit_code,
        signal=end.signal,
        variables=settings,
        notes=(*conflicts, *read_errors, *observation.notes, *_missing(text, graphs)),
        graphs=tuple(
            replace(graph, clusters=tuple(with_module(cluster, compiled) for cluster in graph.clusters))
            for graph in graphs
        ),
        single_operations=len(log.functions) - len(log.of_users),
        compiled={name: CompiledName(times=one.times, seconds=one.seconds) for name, one in log.compiled.items()},
        modules=tuple(module.function for module in dump),
        profiled=observation.profiled,
    )


def _modules(folder: Path) -> Sequence[DumpedModule]:
    try:
        return modules(folder)
    except UnreadableProgram:
        return ()  # nothing was compiled


def _graphs(
    log: ClusteringLog, folder: Path, observation: observing.Observed
) -> tuple[list[ClusteredGraph], list[str]]:
    """The graphs that the log names, or without a log the dumped ones with clusters; and why files are not read."""
    graphs: list[ClusteredGraph] = []
    read_errors: list[str] = []
    texts = texts_of({place for lines in observation.lines.values() for place in lines.values()})
    for function in [one for one in log.of_users if one.graph]:
        try:
            graphs.append(clustered_graph(log, function, observation.of(function.function), texts))
        except FileError as error:
            read_errors.append(f"not read: {error}")
    for path in sorted(folder.glob("encapsulate_subgraphs_before*.pbtxt")) if not log.functions else ():
        try:
            graphs.append(put_together(log, LoggedFunction(graph=str(path)), read_graph(path), {}, {}))
        except FileError as error:
            read_errors.append(f"not read: {error}")
    return (graphs if log.functions else [graph for graph in graphs if graph.clusters]), read_errors


def _missing(text: str, graphs: Sequence[ClusteredGraph]) -> Iterable[str]:
    if graphs and not any(graph.logged for graph in graphs):
        yield f"TensorFlow logged nothing, so no reason is known: does the program set {QUIETEST} itself?"
    if not graphs and not text:
        yield "nothing of TensorFlow was seen: no log, no graph"
