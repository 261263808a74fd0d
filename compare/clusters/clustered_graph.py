"""A graph with its clusters and the reasons of what stayed out, put together from what TensorFlow dumped and logged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from compare.clusters.graph_file import DumpedNode, read_graph
from compare.clusters.log_lines import ClusteringLog, LoggedFunction, Refusal
from compare.record.clustering_part import (
    BOUNDARY,
    DECLUSTERED,
    NO_KERNEL,
    OFF,
    REFUSED,
    SMALL,
    UNKNOWN,
    Apart,
    Cluster,
    ClusteredGraph,
    GraphNode,
)

MINIMUM = 4
"""Operations that a cluster has to have unless `--tf_xla_min_cluster_size` says otherwise; constants do not count."""

_MINIMUM = re.compile(r"--tf_xla_min_cluster_size=(\d{1,9})\b")

_BOUNDARY = "top level _Arg or _Retval"
_NO_KERNEL = re.compile(r"\bNo registered '[^']*' OpKernel for XLA_\w+ devices")
"""Reasons in TensorFlow's words."""

_ENDS = ("_Arg", "_Retval")
_LOWERED = re.compile(r".*/_\d+")
"""The name of a node that a loop or branch was lowered to."""

# What Grappler and the lowering of loops put before and after the name of a node of the user's.
_MADE_FROM = (
    re.compile(r"^(?:.*/)?\w+Optimizer/(?:[A-Z]\w*?_)(?:Leaf_\d+_)?(?P<name>[^/]+)$"),
    re.compile(r"^(?P<name>.+)/clone_\d+$"),
    re.compile(r"^(?:.*/)?(?:body|cond|then|else|branch\d+)/_\d+/(?P<name>.+)$"),
)


def minimum(flags: str) -> int:
    """How many operations a cluster has to have.

    Args:
      flags: TF_XLA_FLAGS; the last of several counts.
    """
    values = _MINIMUM.findall(flags)
    return int(values[-1]) if values else MINIMUM


def clustered_graph(
    log: ClusteringLog, function: LoggedFunction, sources: Mapping[str, str], texts: Mapping[str, str]
) -> ClusteredGraph:
    """One function's graph.

    Args:
      sources: FILE:LINE by the name of a node, as it was traced.
      texts: by FILE:LINE, what stands there.

    Raises:
      FileError: the graph cannot be read.
    """
    nodes = read_graph(Path(function.graph)) if function.graph else ()
    return put_together(log, function, nodes, sources, texts)


def put_together(
    log: ClusteringLog,
    function: LoggedFunction,
    nodes: Sequence[DumpedNode],
    sources: Mapping[str, str],
    texts: Mapping[str, str],
) -> ClusteredGraph:
    """The clustered graph of nodes that were read already; a function without log lines has nodes without reasons.

    Args:
      sources: FILE:LINE by the name of a node, as it was traced.
      texts: by FILE:LINE, what stands there.
    """
    function.off |= _passed_over(function, nodes)
    described_nodes = tuple(_node(node, function, sources, texts) for node in nodes)
    return ClusteredGraph(
        function=function.function,
        nodes=described_nodes,
        clusters=tuple(_clusters(described_nodes, log)),
        apart=tuple(_apart(function, {node.name: node.cluster for node in described_nodes})),
        logged=bool(function.looked_at),
        unread=tuple(function.unread),
    )


def source_of(node: str, sources: Mapping[str, str]) -> str:
    """FILE:LINE of a node, or of the one that it was made from; empty where neither is known."""
    name = node
    for _ in range(len(_MADE_FROM) + 1):
        if name in sources:
            return sources[name]
        matches = (pattern.match(name) for pattern in _MADE_FROM)
        name = next((match["name"] for match in matches if match), "")
    if not _LOWERED.fullmatch(node):
        return ""
    parts = node.split("/")
    around = ("/".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1))
    return next((sources[scope] for scope in around if scope in sources), "")


def _node(
    node: DumpedNode, function: LoggedFunction, sources: Mapping[str, str], texts: Mapping[str, str]
) -> GraphNode:
    kind, refusal = ("", Refusal("")) if node.cluster else _outside(node, function)
    source = source_of(node.name, sources)
    return GraphNode(
        name=node.name,
        op=node.op,
        inputs=node.inputs,
        cluster=node.cluster,
        source=source,
        line=texts.get(source, ""),
        outside=kind,
        reason=refusal.reason,
        within=refusal.within,
    )


def _passed_over(function: LoggedFunction, nodes: Iterable[DumpedNode]) -> bool:
    """Whether TensorFlow went past every node without a word: where clusters may be formed it refuses arguments."""
    ends = [node.name for node in nodes if node.op in _ENDS and node.name in function.looked_at]
    return function.candidates == 0 and bool(ends) and not function.refused.keys() & set(ends)


def _outside(node: DumpedNode, function: LoggedFunction) -> tuple[str, Refusal]:
    """The kind of the reason, and what TensorFlow says."""
    if node.name in function.refused:
        refusal = function.refused[node.name]
        return _kind_of(refusal), refusal
    if node.name in function.taken_out:
        return DECLUSTERED, Refusal(function.taken_out[node.name])
    if node.op in _ENDS:
        return BOUNDARY, Refusal("")
    if function.off:
        return OFF, Refusal("")
    return (SMALL if function.fits(node.name) else UNKNOWN), Refusal("")


def _clusters(nodes: Iterable[GraphNode], log: ClusteringLog) -> Iterable[Cluster]:
    members: dict[str, Counter[str]] = {}
    for node in nodes:
        if node.cluster:
            members.setdefault(node.cluster, Counter())[node.op] += 1
    for name in sorted(members, key=lambda cluster: (-members[cluster].total(), cluster)):
        compiled = log.compiled.get(name)
        yield Cluster(
            name=name,
            nodes=members[name].total(),
            ops=dict(members[name].most_common()),
            compilations=compiled.times if compiled else 0 if log.functions else None,
            compile_s=compiled.seconds if compiled else None,
        )


def _apart(function: LoggedFunction, clusters: Mapping[str, str]) -> Iterable[Apart]:
    """The pairs that ended in different clusters: later rounds may join what the first did not."""
    for (left, right), reason in function.apart.items():
        ends = clusters.get(left, ""), clusters.get(right, "")
        if not ends[0] or ends[0] != ends[1]:
            yield Apart(left=left, right=right, left_cluster=ends[0], right_cluster=ends[1], reason=reason)


def _kind_of(refusal: Refusal) -> str:
    """The kind of a reason for which TensorFlow says that a node cannot be compiled."""
    if refusal == Refusal(_BOUNDARY):
        return BOUNDARY
    return NO_KERNEL if _NO_KERNEL.search(refusal.reason) else REFUSED
