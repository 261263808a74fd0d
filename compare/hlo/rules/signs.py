"""Rules that rest on what is never negative."""

from __future__ import annotations

import numpy as np

from compare.hlo.graph import Node
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import fill, is_float, is_integer, is_splat, only, splat

_DEEPEST = 6
"""How far back a value is looked into."""
_FROM_ITS_OPERAND = frozenset({"broadcast", "reshape", "transpose", "slice", "sqrt"})


def never_negative(key: int, graph: Writer, depth: int = _DEEPEST) -> bool:
    """Whether every number that a value can hold is 0 or above: of floats, -0.0 not among them, NaN aside.

    Args:
      depth: how many operations were followed to get there.
    """
    node = graph[key]
    value = splat(key, graph)
    if np.iscomplexobj(value):
        return False
    if value is not None:
        return bool(value >= 0) and not np.signbit(value)
    if not depth:
        return False
    if node.opcode in _FROM_ITS_OPERAND:
        return never_negative(node.operands[0], graph, depth - 1)
    return _integers(node, graph, depth - 1) if is_integer(node.shape) else _floats(node, graph, depth - 1)


def _integers(node: Node, graph: Writer, depth: int) -> bool:
    if node.opcode == "convert":
        return graph[node.operands[0]].shape.dtype == "pred"
    if node.opcode == "remainder":
        return never_negative(node.operands[0], graph, depth)
    if node.opcode == "maximum":
        return any(never_negative(operand, graph, depth) for operand in node.operands)
    if node.opcode == "minimum":
        return all(never_negative(operand, graph, depth) for operand in node.operands)
    return node.opcode == "iota" or node.shape.dtype[0] == "u"


def _floats(node: Node, graph: Writer, depth: int) -> bool:
    if not is_float(node.shape):
        return False
    if node.opcode == "multiply" and node.operands[0] == node.operands[1]:
        return True
    if node.opcode in ("add", "divide"):
        return all(never_negative(operand, graph, depth) for operand in node.operands)
    if node.opcode == "reduce" and only(node) == "add" and len(node.operands) == 2:
        return all(never_negative(operand, graph, depth) for operand in node.operands)
    return node.opcode in ("exponential", "abs", "logistic")


def _absolute(node: Node, graph: Writer) -> int | None:
    if not is_float(node.shape) or not never_negative(node.operands[0], graph):
        return None
    return node.operands[0]


def _float_test(node: Node, graph: Writer) -> int | None:
    if node.attribute("comparison_direction") != "LE":
        return None
    if not is_float(graph[node.operands[1]].shape) or splat(node.operands[0], graph) != 0:
        return None
    return fill(np.bool_(True), node.shape, graph) if never_negative(node.operands[1], graph) else None


def _integer_test(node: Node, graph: Writer) -> int | None:
    """`x < 0` and `-1 < x`."""
    if node.attribute("comparison_direction") != "LT":
        return None
    below, above = node.operands
    if not is_integer(graph[below].shape):
        return None
    if is_splat(above, graph, 0) and never_negative(below, graph):
        return fill(np.bool_(False), node.shape, graph)
    if is_splat(below, graph, -1) and never_negative(above, graph):
        return fill(np.bool_(True), node.shape, graph)
    return None


INTEGER_SIGNS = (
    Rule("signs of integers", "an iota, or what remains of one, is not below 0", ("compare",), _integer_test),
)  # fmt: skip
"""No bit differs."""

FLOAT_SIGNS = (
    Rule("absolute values", "what is never negative is its absolute value", ("abs",), _absolute),
    Rule(
        "signs of floats", "what is never negative is at least 0, but for NaN", ("compare",), _float_test, numerics=True
    ),
)
"""In the order in which they are tried."""
