"""Describes a clustering in sentences and rows, for the console and the pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.record.clustering_part import (
    BOUNDARY,
    DECLUSTERED,
    KINDS,
    NO_KERNEL,
    REFUSED,
    SMALL,
    Apart,
    ClusteredGraph,
    Clustering,
    GraphNode,
    Launched,
    OneProgram,
    Profiled,
    TimeSplit,
)
from compare.report import numbers
from compare.report.pages import Column, Table, columns

_IN_ITS_WORDS = (REFUSED, DECLUSTERED)
"""Kinds of which TensorFlow's own words say more."""
_OF_OPERATION = (NO_KERNEL, REFUSED)
"""Kinds that say something of an operation: for the others all nodes stand together."""
_MOST_OPS = 4
MOST_ON_CONSOLE = 12
"""Rows of a table on a console."""


@dataclass(frozen=True)
class OutsideRow:
    """Nodes that stayed outside for one reason, and by place how many of them stand there."""

    ops: str
    count: int
    why: str
    places: Mapping[tuple[str, str], int]
    """By FILE:LINE and the text of that line."""
    names: tuple[str, ...] = ()
    """The names of the nodes."""


def inside(graph: ClusteredGraph) -> int:
    """How many nodes stand in a cluster."""
    return sum(bool(node.cluster) for node in graph.nodes)


def computing(graph: ClusteredGraph) -> list[GraphNode]:
    """The nodes without arguments and results, which no cluster can have."""
    return [node for node in graph.nodes if node.outside != BOUNDARY]


def headline(graph: ClusteredGraph) -> str:
    """How much is compiled."""
    nodes = len(computing(graph))
    if not graph.clusters:
        return f"nothing was compiled: none of {numbers.count_of(nodes, 'node')} is in a cluster"
    count = inside(graph)
    share = f"{count:,} of {numbers.count_of(nodes, 'node')} in {numbers.count_of(len(graph.clusters), 'cluster')}"
    return f"{share}; {nodes - count:,} outside" if nodes > count else f"all of {share.partition(' of ')[2]}"


def why(node: GraphNode, minimum: int | None = None) -> str:
    """Why a node stayed outside."""
    kind = KINDS.get(node.outside, node.outside)
    if node.outside in _IN_ITS_WORDS and node.reason:
        return f"{kind}: {f'{node.within} within it: ' if node.within else ''}{node.reason}"
    if node.outside == NO_KERNEL and node.within:
        return f"{kind}: {node.within} in what it calls"
    if node.outside == SMALL and minimum:
        return f"{kind} (at least {minimum} operations, constants not counted)"
    return kind


def outside_rows(graph: ClusteredGraph, minimum: int | None = None) -> list[OutsideRow]:
    """The nodes outside of clusters, by reason and operation; the most important reason first, then the most nodes."""
    by_reason_and_op: dict[tuple[str, str], list[GraphNode]] = {}
    for node in computing(graph):
        if node.outside:
            op = node.op if node.outside in _OF_OPERATION else ""
            by_reason_and_op.setdefault((why(node, minimum), op), []).append(node)
    order = list(KINDS)
    groups = sorted(by_reason_and_op.items(), key=lambda one: (order.index(one[1][0].outside), -len(one[1]), one[0]))
    return [
        OutsideRow(ops_of(nodes), len(nodes), reason, places_of(nodes), tuple(node.name for node in nodes))
        for (reason, _), nodes in groups
    ]


def ops_of(nodes: Sequence[GraphNode]) -> str:
    """How many nodes of each operation there are, the most frequent first."""
    return list_operations(dict(Counter(node.op for node in nodes).most_common()))


def places_of(nodes: Sequence[GraphNode]) -> dict[tuple[str, str], int]:
    """By FILE:LINE and the text of that line, how many of the nodes stand there."""
    return dict(Counter((node.source, node.line) for node in nodes if node.source).most_common())


def cluster_table(graph: ClusteredGraph) -> Table:
    """The clusters, the largest first."""
    rows = [
        (
            cluster.name,
            numbers.count(cluster.nodes),
            list_operations(cluster.ops),
            _compilation_text(cluster.compilations, cluster.compile_s),
            _size_text(cluster.instructions, cluster.kernels),
            numbers.seconds(cluster.seconds),
        )
        for cluster in graph.clusters
    ]
    titles = (
        *(Column("cluster"), Column("nodes", "number"), Column("operations", "wrap")),
        *(*columns("compiled", "XLA made"), Column("a call", "number")),
    )
    return Table(titles, rows, title="Clusters", most_on_console=MOST_ON_CONSOLE)


def list_operations(ops: Mapping[str, int]) -> str:
    """The first of some operations, each with its number."""
    words = [name if count == 1 else f"{count} {name}" for name, count in list(ops.items())[:_MOST_OPS]]
    return ", ".join([*words, *(["..."] if len(ops) > _MOST_OPS else [])])


def _compilation_text(times: int | None, seconds: float | None) -> str:
    if times is None:
        return numbers.MISSING
    if not times:
        return "never: it did not run"
    return f"{'once' if times == 1 else f'{times} times'} in {numbers.seconds(seconds)}"


def _size_text(instructions: int | None, kernels: int | None) -> str:
    if instructions is None:
        return numbers.MISSING
    return f"{numbers.count_of(instructions, 'instruction')}, {numbers.count_of(kernels or 0, 'kernel')}"


def apart(graph: ClusteredGraph) -> list[str]:
    """Why clusters stayed apart: each pair of clusters once for each reason."""
    by_ends_and_reason: dict[tuple[str, str, str], list[Apart]] = {}
    for pair in graph.apart:
        ends = pair.left_cluster or pair.left, pair.right_cluster or pair.right
        by_ends_and_reason.setdefault((*ends, pair.reason.partition(" via [")[0]), []).append(pair)
    return [
        f"{_end([(one.left_cluster, one.left) for one in pairs])} and "
        f"{_end([(one.right_cluster, one.right) for one in pairs])} were not joined: "
        f"{min((pair.reason for pair in pairs), key=len)}"
        for pairs in by_ends_and_reason.values()
    ]


def _end(nodes: Sequence[tuple[str, str]]) -> str:
    """A cluster with the node that was at hand, or that node alone."""
    names = list(dict.fromkeys(name for _, name in nodes))
    cluster = nodes[0][0]
    return f"{cluster} (at {numbers.list_first(names, 1)})" if cluster else names[0]


def time_line(time: TimeSplit | None) -> str:
    """Where the time of a call went; empty where nothing was asked."""
    if time is None:
        return ""
    if time.reason:
        return f"time: not known: {time.reason}"
    parts = [part or 0.0 for part in (time.compiled_s, time.outside_s, time.overhead_s)]
    total = sum(parts)
    shares = [f"{numbers.share(part / total)} {where}" for part, where in zip(parts, _WHERE, strict=True) if part]
    words = f"time of a call in nodes: {numbers.seconds(total)} (median of {time.calls}): {', '.join(shares)}"
    slowest = [f"{name} {numbers.seconds(seconds)}" for name, seconds in list(time.nodes.items())[:3]]
    return f"{words}; longest outside: {', '.join(slowest)}" if slowest else words


_WHERE = ("in clusters", "outside", "to find clusters and hand on their results")


def whole_lines(clustering: Clustering) -> Iterator[str]:
    """Lines on the function compiled as one program by both frameworks."""
    for name, whole in (("tf.function(jit_compile=True)", clustering.jit), ("jax.jit", clustering.jax)):
        if whole is not None:
            yield f"{name}: {_whole(whole)}"


def _whole(whole: OneProgram) -> str:
    figures = [
        f"one program of {numbers.count_of(whole.instructions, 'instruction')}"
        if whole.instructions is not None
        else "",
        f"{numbers.count_of(whole.kernels, 'kernel')} a call" if whole.kernels is not None else "",
    ]
    return ", ".join(filter(None, (*figures, f"none: {whole.reason}" if whole.reason and not any(figures) else "")))


def launch_lines(launch: Launched, auto_jit: bool) -> Iterator[str]:
    """How a program ended, what gave way for it, and how much was compiled.

    Args:
      auto_jit: whether autoclustering was switched on for it.
    """
    if launch.signal:
        yield f"the program was ended by {launch.signal}; what it left until then:"
    elif launch.exit_code:
        yield f"the program failed with exit code {launch.exit_code}; what it left until then:"
    yield from launch.notes
    clustering = [graph for graph in launch.graphs if graph.clusters]
    if launch.graphs and not clustering and not auto_jit:
        yield (
            f"no function of {len(launch.graphs)} was clustered; --auto-jit switches autoclustering on, which "
            "set_jit(True) alone does not on a CPU"
        )
    elif launch.graphs:
        functions = numbers.count_of(len(launch.graphs), "function")
        yield f"{len(clustering)} of {functions} {'has' if len(clustering) == 1 else 'have'} clusters"
    whole = {name: one for name, one in launch.compiled.items() if not _CLUSTER.fullmatch(name)}
    for name, one in whole.items():
        yield f"compiled whole, not by autoclustering: {name}, {_compilation_text(one.times, one.seconds)}"
    yield _compilations(launch)
    yield from profile_lines(launch.profiled)


def profile_lines(profile: Profiled | None) -> Iterator[str]:
    """Where the time of a program went, and the longest operations outside with their lines."""
    if profile is None or profile.time is None:
        return
    if profile.time.reason:
        yield f"time: not known: {profile.time.reason}"
        return
    parts = [part or 0.0 for part in (profile.time.compiled_s, profile.time.outside_s, profile.time.overhead_s)]
    total = sum(parts)
    shares = [f"{numbers.share(part / total)} {where}" for part, where in zip(parts, _OF_PROGRAM, strict=True) if part]
    processes = "1 process" if profile.processes == 1 else f"{profile.processes or 0} processes"
    yield (
        f"time in operations: {numbers.seconds(total)} of all threads, in {numbers.seconds(profile.seconds)} of "
        f"{processes}: {', '.join(shares)}"
    )
    for node in profile.longest[:_MOST_OUTSIDE]:
        where = f" ({node.source})" if node.source else ""
        yield f"  outside: {node.name} {numbers.seconds(node.seconds)}{where}"


_OF_PROGRAM = ("compiled", "outside", "to compile, to find clusters and to hand on their results")
_MOST_OUTSIDE = 5


_CLUSTER = re.compile(r"cluster_\d+")
_MOST_MODULES = 8


def _compilations(launch: Launched) -> str:
    names = list(dict.fromkeys(launch.modules))
    names_shown = [*names[:_MOST_MODULES], *(["..."] if len(names) > _MOST_MODULES else [])]
    dump_text = f"{numbers.count_of(len(launch.modules), 'module')} dumped: {', '.join(names_shown)}"
    if not launch.compiled:
        return f"XLA compiled: {dump_text}" if launch.modules else "XLA compiled nothing"
    seconds = sum(one.seconds or 0.0 for one in launch.compiled.values())
    times = sum(one.times or 0 for one in launch.compiled.values())
    return f"XLA compiled {numbers.count_of(times, 'time')}, {numbers.seconds(seconds)} in all; {dump_text}"
