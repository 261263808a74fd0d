"""Rules of formulas: functions that frameworks spell in several ways, and guards that ordinary numbers never need."""

from __future__ import annotations

from compare.hlo.graph import Node
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import fill, is_float, is_integer, is_splat, splat

_POWERS = range(2, 9)


def _power(node: Node, graph: Writer) -> int | None:
    value = splat(node.operands[1], graph) if is_float(node.shape) else None
    if value is None:
        return None
    base, exponent = node.operands[0], float(value)
    if exponent < 0:
        return _inverse_power(node, exponent, graph)
    if exponent == 0.5:
        return graph.add("sqrt", node.shape, (base,))
    if exponent == 1:
        return base
    return _whole_power(node, base, int(exponent), graph) if exponent in _POWERS else None


def _inverse_power(node: Node, exponent: float, graph: Writer) -> int | None:
    base = node.operands[0]
    if exponent == -0.5:
        return graph.add("rsqrt", node.shape, (base,))
    if -exponent not in (1, *_POWERS):
        return None
    below = _whole_power(node, base, int(-exponent), graph)
    return graph.add("divide", node.shape, (fill(1.0, node.shape, graph), below))


def _whole_power(node: Node, base: int, exponent: int, graph: Writer) -> int:
    power = base
    for _ in range(exponent - 1):
        power = graph.add("multiply", node.shape, (power, base))
    return power


def _divided_root(node: Node, graph: Writer) -> int | None:
    below = graph[node.operands[1]]
    inner = graph[below.operands[0]] if below.opcode == "broadcast" else below
    opposite = {"sqrt": "rsqrt", "rsqrt": "sqrt"}.get(inner.opcode)
    if opposite is None:
        return None
    root = graph.add(opposite, inner.shape, inner.operands)
    if below is not inner:
        root = graph.add("broadcast", below.shape, (root,), below.attributes)
    return graph.add("multiply", node.shape, (node.operands[0], root))


def _logistic(node: Node, graph: Writer) -> int | None:
    """`1 / (1 + exp(-x))`."""
    if not is_splat(node.operands[0], graph, 1.0):
        return None
    below = graph[node.operands[1]]
    for index in (0, 1) if below.opcode == "add" else ():
        exponential = graph[below.operands[index]]
        if exponential.opcode == "exponential" and is_splat(below.operands[1 - index], graph, 1.0):
            return graph.add("logistic", node.shape, (graph.add("negate", node.shape, exponential.operands),))
    return None


def _near_one(node: Node, graph: Writer) -> int | None:
    """`exp(x) - 1` and `log(1 + x)`."""
    if node.opcode == "add" and is_float(node.shape):
        for index in (0, 1):
            exponential = graph[node.operands[index]]
            if exponential.opcode == "exponential" and is_splat(node.operands[1 - index], graph, -1.0):
                return graph.add("exponential-minus-one", node.shape, exponential.operands)
    below = graph[node.operands[0]] if node.opcode == "log" else None
    for index in (0, 1) if below is not None and below.opcode == "add" else ():
        assert below is not None
        if is_splat(below.operands[1 - index], graph, 1.0):
            return graph.add("log-plus-one", node.shape, (below.operands[index],))
    return None


def _log_of_exponential(node: Node, graph: Writer) -> int | None:
    inner = graph[node.operands[0]]
    return inner.operands[0] if {node.opcode, inner.opcode} == {"log", "exponential"} else None


def _clamp(node: Node, graph: Writer) -> int | None:
    low, value, high = node.operands
    return graph.add("minimum", node.shape, (graph.add("maximum", node.shape, (low, value)), high))


def _extremum(node: Node, graph: Writer) -> int | None:
    """The larger or smaller of two, by a comparison."""
    if not (is_float(node.shape) or is_integer(node.shape)):
        return None
    predicate, then, otherwise = node.operands
    test = graph[predicate]
    if test.opcode != "compare" or test.attribute("comparison_direction") not in ("LT", "LE"):
        return None
    if test.operands == (then, otherwise):
        return graph.add("minimum", node.shape, (then, otherwise))
    return graph.add("maximum", node.shape, (then, otherwise)) if test.operands == (otherwise, then) else None


def _positive_part(node: Node, graph: Writer) -> int | None:
    """`0 < max(x, 0)`."""
    if node.attribute("comparison_direction") != "LT":
        return None
    below, above = node.operands
    inner = graph[above]
    if inner.opcode != "maximum" or splat(below, graph) != 0 or below not in inner.operands:
        return None
    rest = inner.operands[1 - inner.operands.index(below)]
    return graph.add("compare", node.shape, (below, rest), node.attributes)


def _mask(node: Node, graph: Writer) -> int | None:
    """`x * mask`, the mask 1 where something holds and 0 elsewhere."""
    if not is_float(node.shape):
        return None
    for index in (0, 1):
        mask = graph[node.operands[index]]
        if mask.opcode == "convert" and graph[mask.operands[0]].shape.dtype == "pred":
            operands = (mask.operands[0], node.operands[1 - index], fill(0.0, node.shape, graph))
            return graph.add("select", node.shape, operands)
    return None


def _finite_guard(node: Node, graph: Writer) -> int | None:
    """`x` where it is finite, else 0."""
    predicate, then, otherwise = node.operands
    test = graph[predicate]
    guards = test.opcode == "is-finite" and test.operands[0] == then
    return then if guards and splat(otherwise, graph) == 0 else None


def _wrapped_index(node: Node, graph: Writer) -> int | None:
    """`i + n` where `i < 0`, else `i`."""
    if not is_integer(node.shape):
        return None
    predicate, then, otherwise = node.operands
    test, addition = graph[predicate], graph[then]
    below_zero = test.opcode == "compare" and test.attribute("comparison_direction") == "LT"
    if not below_zero or test.operands[0] != otherwise or splat(test.operands[1], graph) != 0:
        return None
    if addition.opcode != "add" or otherwise not in addition.operands:
        return None
    size = splat(addition.operands[1 - addition.operands.index(otherwise)], graph)
    return otherwise if size is not None and int(size) > 0 else None


FORMULAS = (
    Rule("powers", "whole powers to 8 are products, a power of 0.5 is a root, negative ones are divided", ("power",),
         _power, numerics=True),
    Rule("divided roots", "a / sqrt(b) is a * rsqrt(b), a / rsqrt(b) is a * sqrt(b)", ("divide",), _divided_root,
         numerics=True),
    Rule("logistic", "1 / (1 + exp(-x)) is the logistic function of x", ("divide",), _logistic, numerics=True),
    Rule("logs near one", "exp(x) - 1 and log(1 + x) as functions of their own", ("add", "log"), _near_one,
         numerics=True),
    Rule("logs of exponentials", "log(exp(x)) and exp(log(x)) are x, where neither overflows", ("log", "exponential"),
         _log_of_exponential, numerics=True, assumes="logarithms are of positive numbers"),
    Rule("clamps", "between low and high: the smaller of high and the larger of low and x", ("clamp",), _clamp),
    Rule("larger and smaller", "a choice by a < b is the larger or the smaller, but for NaN and -0.0", ("select",),
         _extremum, numerics=True, assumes="no value is NaN"),
    Rule("positive parts", "max(x, 0) is above 0 where x is", ("compare",), _positive_part),
    Rule("masks", "x times a mask is x or 0, but where x is not finite", ("multiply",), _mask, numerics=True,
         assumes="masked values are finite"),
    Rule("finite guards", "x unless it is not finite, as of a maximum, is x", ("select",), _finite_guard, numerics=True,
         assumes="guarded values are finite"),
    Rule("index wrap-around", "i + n for i below 0 is i: an index that counts from 0", ("select",), _wrapped_index,
         numerics=True, assumes="integers that would be wrapped are not below 0"),
)  # fmt: skip
"""In the order in which they are tried."""
