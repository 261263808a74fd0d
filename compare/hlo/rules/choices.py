"""Rules of comparisons, logic and selection: one form of what decides between values."""

from __future__ import annotations

import numpy as np

from compare.hlo.graph import Node
from compare.hlo.numbering import COMMUTATIVE, MIRRORED
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import fill, is_float, is_integer, is_splat, splat, spread

_OPPOSITE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "LE": "GT", "GT": "LE", "GE": "LT"}


def _sort_operands(node: Node, graph: Writer) -> int | None:
    first, second = node.operands
    if graph.digests[first] <= graph.digests[second]:
        return None
    return graph.add(node.opcode, node.shape, (second, first), node.attributes)


def _compare(node: Node, direction: str, operands: tuple[int, ...], graph: Writer) -> int:
    attributes = tuple(attribute for attribute in node.attributes if attribute[0] != "comparison_direction")
    return graph.add("compare", node.shape, operands, (*attributes, ("comparison_direction", direction)))


def _mirror_comparison(node: Node, graph: Writer) -> int | None:
    direction = node.attribute("comparison_direction")
    if direction in MIRRORED:
        return _compare(node, MIRRORED[direction], node.operands[::-1], graph)
    sorted_operands = tuple(sorted(node.operands, key=lambda key: graph.digests[key]))
    if direction in ("EQ", "NE") and sorted_operands != node.operands:
        return _compare(node, direction, sorted_operands, graph)
    return None


def _strict_comparison(node: Node, graph: Writer) -> int | None:
    if node.attribute("comparison_direction") != "LE":
        return None
    if not is_integer(graph[node.operands[0]].shape):
        return None
    for index, step in ((1, 1), (0, -1)):
        value = splat(node.operands[index], graph)
        if value is not None and value != (np.iinfo(value.dtype).max if step > 0 else np.iinfo(value.dtype).min):
            operands = list(node.operands)
            operands[index] = fill(value.dtype.type(int(value) + step), graph[node.operands[index]].shape, graph)
            return _compare(node, "LT", tuple(operands), graph)
    return None


def _negated_comparison(node: Node, graph: Writer) -> int | None:
    inner = graph[node.operands[0]]
    if node.shape.dtype != "pred" or inner.opcode != "compare":
        return None
    direction = inner.attribute("comparison_direction")
    # Beside a NaN neither x < y nor x >= y holds.
    if direction not in ("EQ", "NE") and not is_integer(graph[inner.operands[0]].shape):
        return None
    return _compare(inner, _OPPOSITE[direction], inner.operands, graph)


def _double_negation(node: Node, graph: Writer) -> int | None:
    if graph[node.operands[0]].opcode != node.opcode:
        return None
    return graph[node.operands[0]].operands[0]


def _idempotent(node: Node, graph: Writer) -> int | None:
    return node.operands[0] if node.operands[0] == node.operands[1] else None


def _logic(node: Node, graph: Writer) -> int | None:
    if node.shape.dtype != "pred":
        return None
    for index in (0, 1):
        value = splat(node.operands[index], graph)
        if value is not None:
            # True is neutral to "and" and decides "or"; False the other way round.
            return node.operands[1 - index] if bool(value) == (node.opcode == "and") else node.operands[index]
    return None


def _one_choice(node: Node, graph: Writer) -> int | None:
    predicate, then, otherwise = node.operands
    if then == otherwise:
        return then
    value = splat(predicate, graph)
    return None if value is None else (then if value else otherwise)


def _positive_choice(node: Node, graph: Writer) -> int | None:
    predicate, then, otherwise = node.operands
    inner = graph[predicate]
    if inner.opcode == "not":
        return graph.add("select", node.shape, (inner.operands[0], otherwise, then))
    if inner.opcode != "compare":
        return None
    direction = inner.attribute("comparison_direction")
    if direction == "NE" or (direction == "LE" and is_integer(graph[inner.operands[0]].shape)):
        positive = _compare(inner, _OPPOSITE[direction], inner.operands, graph)
        return graph.add("select", node.shape, (positive, otherwise, then))
    return None


def _choice_of_numbers(node: Node, graph: Writer) -> int | None:
    if node.shape.dtype == "pred":
        return None
    predicate, then, otherwise = node.operands
    if is_splat(then, graph, 1) and is_splat(otherwise, graph, 0):
        return graph.add("convert", node.shape, (predicate,))
    if is_splat(then, graph, 0) and is_splat(otherwise, graph, 1):
        return graph.add("convert", node.shape, (graph.add("not", graph[predicate].shape, (predicate,)),))
    return None


def _truth_compared(node: Node, graph: Writer) -> int | None:
    """`p == True`, and the like."""
    if graph[node.operands[0]].shape.dtype != "pred":
        return None
    direction = node.attribute("comparison_direction")
    for index in (0, 1) if direction in ("EQ", "NE") else ():
        value = splat(node.operands[index], graph)
        if value is not None:
            rest = node.operands[1 - index]
            return rest if bool(value) == (direction == "EQ") else graph.add("not", node.shape, (rest,))
    return None


def _same_sides(node: Node, graph: Writer) -> int | None:
    if node.operands[0] != node.operands[1]:
        return None
    if not is_integer(graph[node.operands[0]].shape):
        return None
    return fill(np.bool_(node.attribute("comparison_direction") in ("EQ", "LE", "GE")), node.shape, graph)


def _clamp_in_two(node: Node, graph: Writer) -> int | None:
    low, value, high = node.operands
    if not is_float(node.shape):
        return None
    # An end may be one number for all elements.
    low, high = (
        end if graph[end].shape.dimensions else spread(end, node.shape.dimensions, graph) for end in (low, high)
    )
    above = graph.add("maximum", node.shape, (value, low))
    return graph.add("minimum", node.shape, (above, high))


CHOICES = (
    Rule("operands sorted", "a + b and b + a are one value", COMMUTATIVE, _sort_operands),
    Rule("comparisons mirrored", "a > b is b < a; the sides of == and != are sorted", ("compare",), _mirror_comparison),
    Rule("comparisons strict", "between integers x <= 9 is x < 10", ("compare",), _strict_comparison),
    Rule(
        "comparisons negated",
        "not a == b is a != b; between integers not a < b is a >= b",
        ("not",),
        _negated_comparison,
    ),
    Rule("comparisons with itself", "an integer is equal to itself, and not below itself", ("compare",), _same_sides),
    Rule("truths compared", "p == True is p, p != True is not p", ("compare",), _truth_compared),
    Rule("double negations dropped", "not not a is a, -(-a) is a", ("not", "negate"), _double_negation),
    Rule(
        "repetitions dropped",
        "of a and a, a or a, and the larger of a and a, each is a",
        ("and", "or", "maximum", "minimum"),
        _idempotent,
    ),
    Rule(
        "clamps in two operations",
        "floats clamped to 0..6 are the smaller of 6 and the larger of 0 and them, as StableHLO defines clamp",
        ("clamp",),
        _clamp_in_two,
    ),
    Rule("decided logic", "a and True is a, a and False is False", ("and", "or"), _logic),
    Rule("decided choices", "a choice between equals, or by a constant, is no choice", ("select",), _one_choice),
    Rule("choices by what holds", "a choice by not p is the other choice by p", ("select",), _positive_choice),
    Rule("choices of 1 and 0", "1 where p holds and 0 elsewhere is p converted", ("select",), _choice_of_numbers),
)
"""In the order in which they are tried."""
