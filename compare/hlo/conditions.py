"""Finds the decisions of a program about elements: comparisons, clamps, tests for NaN and infinities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import ml_dtypes
import numpy as np

from compare.hlo.graph import CARRIERS, Graph, Node

MOST_NODES = 500
"""A larger program is a model's: it decides by its weights, and each look at it costs seconds."""


class Ways(NamedTuple):
    """Whether a condition held for some element, and whether it failed for some."""

    held: bool
    failed: bool


@dataclass(frozen=True)
class Condition:
    """One decision: a comparison, or a value beyond the end that it is clamped to.

    Attributes:
      left, right: the compared values; one value, if the decision is about special values.
      direction: how, as HLO has it ("GT"), or one of SPECIAL.
      number: the constant among them; None where both are computed.
      line: the user's, "" where nothing tells it.
      node: the operation that decides.
    """

    left: int
    right: int
    direction: str
    number: float | None
    line: str
    node: int

    @property
    def is_special(self) -> bool:
        """Whether it is about NaN, infinities or the ends of the range of a float type."""
        if self.direction in SPECIAL:
            return True
        return self.number is not None and (np.isinf(self.number) or _is_limit(abs(self.number)))

    def is_special_in(self, ways: Ways) -> bool:
        """Whether some value was NaN or an infinity where that is what is decided about."""
        if self.direction == FINITE:
            return ways.failed
        return ways.held and (self.direction == NAN or (self.number is not None and np.isinf(self.number)))

    def __str__(self) -> str:
        against = "" if self.number is None else f" {self.number:g}"
        return f"{_SAID[self.direction]}{against}"


NAN, FINITE = "NAN", "FINITE"
SPECIAL = (NAN, FINITE)
"""Directions of decisions about one value: it is NaN, as `x != x` asks; it is neither NaN nor an infinity."""

_ROUNDED = 1e-6
_LIMITS = [
    limit
    for info in map(ml_dtypes.finfo, ("float16", "bfloat16", "float32", "float64"))
    for limit in (float(info.max), float(info.smallest_normal))
]
_FLOATS = ("f", "bf")
_SAID = {
    NAN: "NaN",
    FINITE: "finite",
    "GT": "above",
    "GE": "at least",
    "LT": "below",
    "LE": "at most",
    "EQ": "equal to",
    "NE": "unlike",
}

_HOLDS = {
    NAN: lambda left, _: np.isnan(left), FINITE: lambda left, _: np.isfinite(left),
    "GT": np.greater, "GE": np.greater_equal, "LT": np.less, "LE": np.less_equal, "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip


def ways_of(condition: Condition, left: np.ndarray, right: np.ndarray) -> Ways:
    """The results of a condition for the elements of two arrays.

    What is NaN fails no comparison of numbers: its order is no user's decision.

    Args:
      left: f[...], what stands on its left.
      right: f[...], of the same shape.
    """
    holds = _HOLDS[condition.direction](left, right)
    is_ordered = condition.direction in SPECIAL or ~np.isnan(left) & ~np.isnan(right)
    fails = ~holds & is_ordered
    return Ways(bool(holds.any()), bool(fails.any()))


def _is_limit(number: float) -> bool:
    """Whether a number is the largest or the least normal one of a float type, as a constant of any type has it."""
    return any(math.isclose(number, limit, rel_tol=_ROUNDED) for limit in _LIMITS)


def conditions(graph: Graph) -> list[Condition]:
    """Decisions over floats that depend on what the program is given, not those inside of its loops and branches.

    Those about special values are left out.
    """
    return [] if len(graph) > MOST_NODES else [decision for decision in decisions(graph) if not decision.is_special]


def special_conditions(graph: Graph) -> list[Condition]:
    """Decisions about special values that depend on what the program is given, not those inside of loops and branches.

    What was an integer is never special.
    """
    special = (condition for condition in decisions(graph) if condition.is_special)
    return [condition for condition in special if not _was_integer(graph, condition.left)]


def _was_integer(graph: Graph, key: int) -> bool:
    while graph.nodes[key].shape.dtype.startswith(_FLOATS):
        if graph.nodes[key].opcode not in CARRIERS:
            return False
        (key,) = graph.nodes[key].operands
    return True


def decisions(graph: Graph) -> list[Condition]:
    """All decisions over floats that depend on the program's arguments, not those inside of its loops and branches."""
    dependent_keys = _keys_of_parameters(graph)
    conditions = [condition for node in graph for condition in _of(graph, node)]
    return [condition for condition in conditions if {condition.left, condition.right} & dependent_keys]


def _of(graph: Graph, node: Node) -> list[Condition]:
    match node.opcode:
        case "is-finite":
            return [Condition(node.operands[0], node.operands[0], FINITE, None, node.source, node.id)]
        case "compare" if _is_same(graph, *node.operands):
            (value, _), dtype = node.operands, graph.nodes[node.operands[0]].shape.dtype
            is_nan_test = node.attribute("comparison_direction") in ("EQ", "NE") and dtype.startswith(_FLOATS)
            return [Condition(value, value, NAN, None, node.source, node.id)] if is_nan_test else []
        case "compare":
            pairs = [(node.operands[0], node.operands[1], str(node.attribute("comparison_direction", "")))]
        case "clamp":
            low, value, high = node.operands
            pairs = [(value, end, how) for end, how in ((low, "LT"), (high, "GT")) if not _is_open(graph, end)]
        case "maximum" | "minimum" if any(_number(graph, operand) is not None for operand in node.operands):
            value, end = sorted(node.operands, key=lambda operand: _number(graph, operand) is not None)
            pairs = [] if _is_open(graph, end) else [(value, end, "LT" if node.opcode == "maximum" else "GT")]
        case _:
            return []
    return [
        Condition(left, right, how, _first(_number(graph, right), _number(graph, left)), node.source, node.id)
        for left, right, how in pairs
        if how in _HOLDS and graph.nodes[left].shape.dtype.startswith(_FLOATS)
        and graph.nodes[left].shape.dimensions == graph.nodes[right].shape.dimensions
    ]  # fmt: skip


def _is_open(graph: Graph, end: int) -> bool:
    """Whether an end that values are clamped to is an infinity, so that it decides nothing."""
    number = _number(graph, end)
    return number is not None and np.isinf(number)


def _is_same(graph: Graph, left: int, right: int, deep: int = 8) -> bool:
    """Whether two values are one, or computed alike from the same: frontends write what `x[0] != x[0]` reads twice."""
    one, other = graph.nodes[left], graph.nodes[right]
    if left == right:
        return True
    alike = (one.opcode, one.shape, one.attributes) == (other.opcode, other.shape, other.attributes)
    if not deep or not alike or not one.operands or one.regions or len(one.operands) != len(other.operands):
        return False
    return all(_is_same(graph, *pair, deep - 1) for pair in zip(one.operands, other.operands, strict=True))


def _first(*numbers: float | None) -> float | None:
    return next((number for number in numbers if number is not None), None)


def _keys_of_parameters(graph: Graph) -> set[int]:
    """Values that a parameter has a part in."""
    keys = set(graph.parameters)
    for node in graph:
        if any(operand in keys for operand in node.operands):
            keys.add(node.id)
    return keys


def _number(graph: Graph, key: int) -> float | None:
    literal = graph.constant(key)
    return None if literal is None or literal.size != 1 or literal.dtype.kind == "c" else float(literal.reshape(()))
