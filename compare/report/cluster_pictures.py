"""A graph as a picture: every cluster a box around its nodes, and what stayed outside in the colour of its reason."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import graphviz

from compare.record.clustering_part import (
    BOUNDARY,
    DECLUSTERED,
    KINDS,
    NO_KERNEL,
    OFF,
    REFUSED,
    SMALL,
    UNKNOWN,
    Cluster,
    ClusteredGraph,
    GraphNode,
)
from compare.report import cluster_rows, numbers
from compare.report.pictures import FONT, GRAPH, INK, SOFT, WHOLE, literally

_COLORS = {
    NO_KERNEL: "#f2c9cf",
    REFUSED: "#f6d5b8",
    SMALL: "#f3eab5",
    DECLUSTERED: "#e3d6f0",
    OFF: "#e6e6e6",
    BOUNDARY: "#ffffff",
    UNKNOWN: "#e6e6e6",
}
_INSIDE = "#d3ecec"


def draw(title: str, graph: ClusteredGraph) -> tuple[graphviz.Digraph, int]:
    """The picture, and how many boxes it has. Constants are left out; of a large graph each cluster is one box."""
    nodes = [node for node in graph.nodes if node.op not in ("Const", "NoOp")]
    digraph = graphviz.Digraph("clusters", graph_attr={"label": _legend(title, nodes), "labelloc": "t"} | GRAPH)
    digraph.attr("node", shape="box", style="filled,rounded", color=SOFT, fontcolor=INK, **FONT)
    digraph.attr("edge", color=SOFT, arrowsize="0.6")
    whole = len(nodes) <= WHOLE
    boxes = {node.name: f"n{number}" for number, node in enumerate(nodes)}
    for number, cluster in enumerate(graph.clusters):
        members = [node for node in nodes if node.cluster == cluster.name]
        if whole:
            digraph.subgraph(_box(number, cluster, members, boxes))
        else:
            _draw_collapsed(digraph, number, cluster, members, boxes)
    for node in nodes:
        if not node.cluster:
            _outside(digraph, boxes[node.name], node)
    _edges(digraph, nodes, boxes)
    return digraph, len(set(boxes.values()))


def _box(number: int, cluster: Cluster, members: Sequence[GraphNode], boxes: dict[str, str]) -> graphviz.Digraph:
    # A name that starts with "cluster" is what makes Graphviz draw a box around.
    box = graphviz.Digraph(f"cluster_{number}")
    label = literally(f"{cluster.name} ({numbers.count_of(cluster.nodes or 0, 'node')})")
    box.attr(
        label=label, tooltip=literally(cluster.name), style="filled,rounded", fillcolor="#eef6f6", color=SOFT, **FONT
    )
    for node in members:
        box.node(boxes[node.name], literally(node.op), fillcolor=_INSIDE, tooltip=_tooltip(node))
    return box


def _draw_collapsed(
    digraph: graphviz.Digraph, number: int, cluster: Cluster, members: Sequence[GraphNode], boxes: dict[str, str]
) -> None:
    key = f"c{number}"
    label = f"{cluster.name}\n{numbers.count_of(cluster.nodes or 0, 'node')}"
    digraph.node(key, literally(label), fillcolor=_INSIDE, penwidth="2", tooltip=literally(cluster.name))
    boxes.update({node.name: key for node in members})


def _outside(digraph: graphviz.Digraph, key: str, node: GraphNode) -> None:
    label = node.name if node.outside == BOUNDARY else node.op
    color = _COLORS.get(node.outside, _COLORS[UNKNOWN])
    digraph.node(key, literally(label[:60]), fillcolor=color, tooltip=_tooltip(node))


def _tooltip(node: GraphNode) -> str:
    reason = f"outside: {cluster_rows.why(node)}" if node.outside else f"in {node.cluster}"
    return literally("\n".join(filter(None, (node.name, reason, node.source, node.line))))


def _edges(digraph: graphviz.Digraph, nodes: Sequence[GraphNode], boxes: dict[str, str]) -> None:
    edges: dict[tuple[str, str], bool] = {}
    for node in nodes:
        for source in node.inputs:
            start, end = boxes.get(source.removeprefix("^"), ""), boxes[node.name]
            if start and start != end:
                edges[start, end] = edges.get((start, end), True) and source.startswith("^")
    for (start, end), waits in edges.items():
        digraph.edge(start, end, style="dashed" if waits else "solid")


def _legend(title: str, nodes: Sequence[GraphNode]) -> str:
    kinds = [kind for kind in KINDS if kind != BOUNDARY and any(node.outside == kind for node in nodes)]
    cells = [(_INSIDE, "in a cluster"), *((_COLORS[kind], KINDS[kind]) for kind in kinds)]
    cells_text = "".join(f'<td bgcolor="{color}">{escape(meaning)}</td>' for color, meaning in cells)
    head = f'<tr><td border="0" colspan="{len(cells)}"><b>{escape(title) or "graph"}</b></td></tr>'
    return f'<<table border="0" cellborder="1" cellspacing="4" color="{SOFT}">{head}<tr>{cells_text}</tr></table>>'
