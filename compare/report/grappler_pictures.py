"""A graph before or after Grappler as a picture: what went, came and changed in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import graphviz

from compare.record.grappler_part import KINDS, NodeRewrite, Optimization, OptimizedNode
from compare.report.grappler_changes import passes
from compare.report.pictures import FONT, GRAPH, INK, PAPER, SOFT, WHOLE, literally

WENT, CAME, OPERATION, READS, SAME = "#f2c9cf", "#d5e8c8", "#f6d5b8", "#f3eab5", PAPER
_LEGEND = {
    WENT: "gone after",
    CAME: "new",
    OPERATION: "another operation",
    READS: "reads, waits or attributes",
    SAME: "the same",
}
_CONSTANTS = ("Const", "NoOp")


def draw(title: str, nodes: Sequence[OptimizedNode], optimization: Optimization) -> tuple[graphviz.Digraph, int]:
    """The picture, and how many boxes it has. Constants that stayed are left out; of a large graph all that stayed."""
    rewrites = {rewrite.name: rewrite for rewrite in optimization.rewrites}
    whole = len(nodes) <= WHOLE
    nodes_shown = [node for node in nodes if node.name in rewrites or (whole and node.op not in _CONSTANTS)]
    label = {"label": _legend(title, whole), "labelloc": "t"}
    digraph = graphviz.Digraph("grappler", graph_attr=label | GRAPH)
    digraph.attr("node", shape="box", style="filled,rounded", color=SOFT, fontcolor=INK, **FONT)
    digraph.attr("edge", color=SOFT, arrowsize="0.6")
    boxes = {node.name: f"n{number}" for number, node in enumerate(nodes_shown)}
    for node in nodes_shown:
        rewrite = rewrites.get(node.name)
        lines = _tooltip_lines(rewrite, optimization) if rewrite else ()
        digraph.node(
            boxes[node.name], literally(_label(node)), fillcolor=_color(rewrite), tooltip=_tooltip(node, lines)
        )
    _edges(digraph, nodes_shown, boxes)
    return digraph, len(boxes)


def _label(node: OptimizedNode) -> str:
    if node.op in ("_Arg", "_Retval"):
        return node.name[:40]
    return f"{node.op}\n{node.constant.text[:30]}" if node.constant and node.constant.text else node.op


def _color(rewrite: NodeRewrite | None) -> str:
    if rewrite is None:
        return SAME
    if rewrite.before is None:
        return CAME
    if rewrite.after is None:
        return WENT
    return OPERATION if rewrite.before.op != rewrite.after.op else READS


def _tooltip_lines(rewrite: NodeRewrite, optimization: Optimization) -> Sequence[str]:
    return KINDS.get(rewrite.kind, rewrite.kind), ", ".join(rewrite.into), passes(rewrite, optimization)


def _tooltip(node: OptimizedNode, lines: Sequence[str]) -> str:
    return literally("\n".join(filter(None, (node.name, *lines, node.source, node.line))))


def _edges(digraph: graphviz.Digraph, nodes: Sequence[OptimizedNode], boxes: Mapping[str, str]) -> None:
    edges: dict[tuple[str, str], bool] = {}
    for node in nodes:
        for tensor in node.inputs:
            start, end = boxes.get(tensor.removeprefix("^").partition(":")[0], ""), boxes[node.name]
            if start and start != end:
                edges[start, end] = edges.get((start, end), True) and tensor.startswith("^")
    for (start, end), waits in edges.items():
        digraph.edge(start, end, style="dashed" if waits else "solid")


def _legend(title: str, whole: bool) -> str:
    entries = {color: meaning for color, meaning in _LEGEND.items() if whole or color != SAME}
    cells = "".join(f'<td bgcolor="{color}">{escape(meaning)}</td>' for color, meaning in entries.items())
    head = f'<tr><td border="0" colspan="{len(entries)}"><b>{escape(title)}</b></td></tr>'
    return f'<<table border="0" cellborder="1" cellspacing="4" color="{SOFT}">{head}<tr>{cells}</tr></table>>'
