"""Rules of sums, products and quotients: neutral elements, signs, constants, and one order of factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compare.hlo.graph import Node
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import fill, is_float, is_integer, is_normal, is_splat, only, splat

_MOST_FACTORS = 8
"""Longer products stay as they are: a chain of n would be taken apart n times."""


def _neutral(node: Node, graph: Writer) -> int | None:
    """Numbers that change nothing, to the bit."""
    if node.opcode in ("add", "multiply", "maximum", "minimum"):
        value = _neutral_number(node)
        for index in (0, 1):
            if value is not None and is_splat(node.operands[index], graph, value):
                return node.operands[1 - index]
    if (node.opcode == "subtract" and is_splat(node.operands[1], graph, 0.0)) or (
        node.opcode == "divide" and is_splat(node.operands[1], graph, 1.0)
    ):
        return node.operands[0]
    return None


def _neutral_number(node: Node) -> float | None:
    if is_integer(node.shape):
        return {"add": 0, "multiply": 1}.get(node.opcode)
    floats = {"add": -0.0, "multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}
    return floats[node.opcode] if is_float(node.shape) else None


def _add_zero(node: Node, graph: Writer) -> int | None:
    if not is_float(node.shape):
        return None
    for index in (0, 1):
        if is_splat(node.operands[index], graph, 0.0):
            return node.operands[1 - index]
    return None


def _sum_from_zero(node: Node, graph: Writer) -> int | None:
    if len(node.operands) != 2 or only(node) != "add":
        return None
    if not is_float(node.shape) or not is_splat(node.operands[1], graph, -0.0):
        return None
    operands = (node.operands[0], fill(0.0, graph[node.operands[1]].shape, graph))
    return graph.add(node.opcode, node.shape, operands, node.attributes, regions=node.regions)


def _subtract_constant(node: Node, graph: Writer) -> int | None:
    value = splat(node.operands[1], graph)
    if value is None or not (is_float(node.shape) or is_integer(node.shape)):
        return None
    with np.errstate(over="ignore"):
        return graph.add("add", node.shape, (node.operands[0], fill(np.negative(value), node.shape, graph)))


def _add_negated(node: Node, graph: Writer) -> int | None:
    for index in (1, 0) if node.opcode == "add" else (1,):
        inner = graph[node.operands[index]]
        if inner.opcode == "negate":
            opcode = "subtract" if node.opcode == "add" else "add"
            return graph.add(opcode, node.shape, (node.operands[1 - index], inner.operands[0]))
    return None


def _negated_product(node: Node, graph: Writer) -> int | None:
    """Signs are written after products and quotients."""
    if node.opcode == "divide" and not is_float(node.shape):
        return None
    for index in (0, 1):
        inner = graph[node.operands[index]]
        if inner.opcode == "negate":
            operands = list(node.operands)
            operands[index] = inner.operands[0]
            return graph.add("negate", node.shape, (graph.add(node.opcode, node.shape, operands),))
        if node.opcode == "multiply" and is_splat(node.operands[index], graph, -1):
            return graph.add("negate", node.shape, (node.operands[1 - index],))
    return None


def _negated_constant(node: Node, graph: Writer) -> int | None:
    """A sign that a constant factor can bear."""
    inner = graph[node.operands[0]]
    if inner.opcode not in ("multiply", "divide"):
        return None
    for index in (0, 1):
        value = splat(inner.operands[index], graph)
        if value is not None and is_float(inner.shape):
            operands = list(inner.operands)
            operands[index] = fill(np.negative(value), node.shape, graph)
            return graph.add(inner.opcode, node.shape, operands)
    return None


def _negated_difference(node: Node, graph: Writer) -> int | None:
    inner = graph[node.operands[0]]
    if inner.opcode != "subtract":
        return None
    return graph.add("subtract", node.shape, inner.operands[::-1])


def _inverse(node: Node, graph: Writer) -> Any:
    """One over the constant that something is divided by; None where that is no ordinary number."""
    value = splat(node.operands[1], graph) if is_float(node.shape) else None
    if value is None or not is_normal(value):
        return None
    with np.errstate(over="ignore"):
        inverse = value.dtype.type(1) / value
    return inverse if is_normal(inverse) else None


def _divide_exactly(node: Node, graph: Writer) -> int | None:
    inverse = _inverse(node, graph)
    if inverse is None or abs(np.frexp(float(inverse))[0]) != 0.5:
        return None
    return graph.add("multiply", node.shape, (node.operands[0], fill(inverse, node.shape, graph)))


def _divide_by_constant(node: Node, graph: Writer) -> int | None:
    inverse = _inverse(node, graph)
    if inverse is None:
        return None
    return graph.add("multiply", node.shape, (node.operands[0], fill(inverse, node.shape, graph)))


def _times_reciprocal(node: Node, graph: Writer) -> int | None:
    if not is_float(node.shape):
        return None
    for index in (0, 1):
        divisor = _reciprocal_of(node.operands[index], graph)
        if divisor is not None:
            return graph.add("divide", node.shape, (node.operands[1 - index], divisor))
    return None


def _reciprocal_of(key: int, graph: Writer) -> int | None:
    """The value x if the value is 1 / x, broadcast to the same shape."""
    node = graph[key]
    inner = graph[node.operands[0]] if node.opcode == "broadcast" else node
    if inner.opcode != "divide" or not is_splat(inner.operands[0], graph, 1.0):
        return None
    if inner is node:
        return inner.operands[1]
    return graph.add("broadcast", node.shape, (inner.operands[1],), node.attributes)


def factors(key: int, graph: Writer) -> tuple[int, ...]:
    """The factors of a product, constants last; any other value itself."""
    leaves, waiting = [], [key]
    while waiting:
        node = graph[waiting.pop()]
        if node.opcode == "multiply" and len(leaves) + len(waiting) < _MOST_FACTORS:
            waiting.extend(node.operands)
        else:
            leaves.append(node.id)
    return tuple(sorted(leaves, key=lambda leaf: (splat(leaf, graph) is not None, graph.digests[leaf])))


def _order_factors(node: Node, graph: Writer) -> int | None:
    """((a * b) * c) * constant, the factors sorted."""
    if all(graph[key].opcode != "multiply" for key in node.operands):
        return None
    all_factors = tuple(factor for key in node.operands for factor in factors(key, graph))
    if len(all_factors) > _MOST_FACTORS:
        return None
    all_factors = tuple(
        sorted(all_factors, key=lambda factor: (splat(factor, graph) is not None, graph.digests[factor]))
    )
    if (
        _is_ordered(node.operands, all_factors, graph)
        and sum(splat(factor, graph) is not None for factor in all_factors) < 2
    ):
        return None
    return _multiply(all_factors, node, graph)


def _is_ordered(operands: Sequence[int], all_factors: tuple[int, ...], graph: Writer) -> bool:
    first, second = operands
    return any(
        last == all_factors[-1] and factors(rest, graph) == all_factors[:-1] and _is_chain(rest, graph)
        for rest, last in ((first, second), (second, first))
    )


def _is_chain(key: int, graph: Writer) -> bool:
    """Whether a product was made factor by factor, in their order."""
    node = graph[key]
    return node.opcode != "multiply" or _is_ordered(node.operands, factors(key, graph), graph)


def _multiply(all_factors: Sequence[int], node: Node, graph: Writer) -> int | None:
    numbers = [splat(factor, graph) for factor in all_factors if splat(factor, graph) is not None]
    rest = [factor for factor in all_factors if splat(factor, graph) is None]
    if len(numbers) > 1:
        with np.errstate(all="ignore"):
            together = np.multiply.reduce(np.asarray(numbers))
        if is_float(node.shape) and not is_normal(together):
            return None
        rest.append(fill(together, node.shape, graph))
    else:
        rest.extend(factor for factor in all_factors if splat(factor, graph) is not None)
    result = rest[0]
    for factor in rest[1:]:
        result = graph.add("multiply", node.shape, (result, factor))
    return result


ARITHMETIC = (
    Rule("neutral numbers dropped", "x * 1, x / 1, x - 0.0, x + -0.0 and the larger of x and -inf are x",
         ("add", "multiply", "maximum", "minimum", "subtract", "divide"), _neutral),
    Rule("zeros dropped", "x + 0.0 is x, but for -0.0, which becomes 0.0", ("add",), _add_zero, numerics=True),
    Rule("sums from 0.0", "a sum starts from 0.0, not -0.0: another zero where all terms are -0.0",
         ("reduce", "reduce-window"), _sum_from_zero, numerics=True),
    Rule("constants added", "x - c is x + (-c), to the bit", ("subtract",), _subtract_constant),
    Rule("signs in sums", "a + (-b) is a - b, and a - (-b) is a + b, to the bit", ("add", "subtract"), _add_negated),
    Rule("signs after products", "(-a) * b is -(a * b), and a * -1 is -a, to the bit", ("multiply", "divide"),
         _negated_product),
    Rule("signs in constants", "-(c * x) is (-c) * x, to the bit", ("negate",), _negated_constant),
    Rule("negated differences", "-(a - b) is b - a, but for the sign of a zero", ("negate",), _negated_difference,
         numerics=True),
    Rule("division by a power of two", "x / c is x * (1 / c), to the bit", ("divide",), _divide_exactly),
    Rule("division by a constant", "x / c is x * (1 / c), in its last bits another number", ("divide",),
         _divide_by_constant, numerics=True),
    Rule("reciprocals", "a * (1 / b) is a / b, rounded once less", ("multiply",), _times_reciprocal, numerics=True),
    Rule("factors ordered", "factors of a product in one order, its constants together as the last", ("multiply",),
         _order_factors, numerics=True),
)  # fmt: skip
"""In the order in which they are tried."""
