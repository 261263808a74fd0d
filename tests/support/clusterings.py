"""A clustering that was recorded, and small ones made of a few nodes."""

from __future__ import annotations

from collections.abc import Mapping

from places import DATA

from compare.clusters.clustered_graph import put_together
from compare.clusters.graph_file import read_graph
from compare.clusters.log_lines import ClusteringLog, LoggedFunction, read_log
from compare.record.clustering_part import Cluster, ClusteredGraph, GraphNode

LINES = (DATA / "clustering" / "print_in_the_middle.log").read_text().splitlines()
"""What TensorFlow 2.21 logged of tf_reference.limits.clustering.print_in_the_middle."""

GRAPH = DATA / "clustering" / "print_in_the_middle.pbtxt"
SOURCES = {"PrintV2": "/home/me/model.py:8", "StringFormat": "/home/me/model.py:8", "mul_1": "/home/me/model.py:9"}
TEXTS = {"/home/me/model.py:8": "tf.print(y)", "/home/me/model.py:9": "return 2.0 * y"}


def recorded(lines: list[str] = LINES, sources: Mapping[str, str] = SOURCES) -> ClusteredGraph:
    """The recorded graph, its clusters and reasons."""
    log = read_log(lines)
    (function,) = log.of_users
    return put_together(log, function, read_graph(GRAPH), sources, TEXTS)


def unlogged() -> ClusteredGraph:
    """The same without a log."""
    log = ClusteringLog()
    return put_together(log, LoggedFunction(), read_graph(GRAPH), {}, {})


def node(name: str, op: str, cluster: str = "", line: str = "", outside: str = "") -> GraphNode:
    """One node, whose line is the 7th of a file."""
    return GraphNode(name=name, op=op, cluster=cluster, source="f.py:7" if line else "", line=line, outside=outside)


def graph(*nodes: GraphNode) -> ClusteredGraph:
    """A graph with the clusters that its nodes name."""
    names = sorted({each.cluster for each in nodes if each.cluster})
    members = {name: [each for each in nodes if each.cluster == name] for name in names}
    return ClusteredGraph(
        function="f",
        nodes=nodes,
        clusters=tuple(Cluster(name=name, nodes=len(held)) for name, held in members.items()),
        logged=True,
    )
