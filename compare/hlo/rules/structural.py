"""Rules that change how a value is written down and never what it is: no result differs in any bit."""

from __future__ import annotations

from compare.hlo.graph import Node
from compare.hlo.numbering import COMMUTATIVE
from compare.hlo.rewriting import Rule, Writer


def _forward_tuples(node: Node, graph: Writer) -> int | None:
    if node.opcode != "get-tuple-element" or graph[node.operands[0]].opcode != "tuple":
        return None
    return graph[node.operands[0]].operands[node.attribute("tuple_index")]


def _sort_operands(node: Node, graph: Writer) -> int | None:
    if node.opcode not in COMMUTATIVE:
        return None
    ordered = tuple(sorted(node.operands, key=lambda key: graph.digests[key]))
    return None if ordered == node.operands else graph.add(node.opcode, node.shape, ordered, node.attributes)


STRUCTURAL = (
    Rule("tuples forwarded", "a part taken out of a tuple that was just made is that part", _forward_tuples),
    Rule("operands sorted", "a + b and b + a are one value", _sort_operands),
)
"""In the order in which they are tried."""
