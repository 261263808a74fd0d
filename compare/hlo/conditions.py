"""What a program decides, element by element, and whether it was seen to decide both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import values
from compare.hlo.graph import Graph, Node


@dataclass(frozen=True)
class Condition:
    """One decision: a comparison, or a value beyond the end that it is clamped to.

    Attributes:
      left, right: the values that are held against each other.
      direction: how, as HLO has it ("GT").
      number: the constant among them; None where both are computed.
      line: the user's, "" where nothing tells it.
    """

    left: int
    right: int
    direction: str
    number: float | None
    line: str

    def __str__(self) -> str:
        against = "" if self.number is None else f" {self.number:g}"
        return f"{_SAID[self.direction]}{against}"


_SAID = {"GT": "above", "GE": "at least", "LT": "below", "LE": "at most", "EQ": "equal to", "NE": "unlike"}

_HOLDS = {
    "GT": np.greater, "GE": np.greater_equal, "LT": np.less, "LE": np.less_equal, "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip


def conditions(graph: Graph) -> list[Condition]:
    """Decisions over floats that depend on what the program is given, those of loops and branches left out.

    Guards against infinities are none.
    """
    given = _given(graph)
    found = [each for node in graph for each in _of(graph, node) if {each.left, each.right} & given]
    return [each for each in found if each.left != each.right and _is_finite(graph, each)]


class Watched:
    """A program that is ready to tell which way it decides.

    Raises:
      UnreadableProgram: XLA cannot run it with those values as results.
    """

    def __init__(self, graph: Graph, watched: Sequence[Condition]) -> None:
        self.conditions = tuple(watched)
        keys = sorted({key for each in watched for key in (each.left, each.right)})
        self._running = values.prepare(graph, keys)

    def seen(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[tuple[bool, bool]]]:
        """By call and condition, whether it held for some element, and whether it did not for some."""
        return [self._decided(found) for found in self._running.each(calls)]

    def _decided(self, found: Mapping[int, np.ndarray]) -> list[tuple[bool, bool]]:
        seen: list[tuple[bool, bool]] = []
        for each in self.conditions:
            left, right = found[each.left], found[each.right]
            held = _HOLDS[each.direction](left, right)
            # What is NaN decides nothing that a port is held to.
            failed = ~held & ~np.isnan(left) & ~np.isnan(right)
            seen.append((bool(held.any()), bool(failed.any())))
        return seen


def _of(graph: Graph, node: Node) -> list[Condition]:
    match node.opcode:
        case "compare":
            pairs = [(node.operands[0], node.operands[1], str(node.attribute("comparison_direction", "")))]
        case "clamp":
            low, value, high = node.operands
            pairs = [(value, low, "LT"), (value, high, "GT")]
        case "maximum" | "minimum" if any(_number(graph, each) is not None for each in node.operands):
            value, end = sorted(node.operands, key=lambda each: _number(graph, each) is not None)
            pairs = [(value, end, "LT" if node.opcode == "maximum" else "GT")]
        case _:
            return []
    return [
        Condition(left, right, how, _first(_number(graph, right), _number(graph, left)), node.source)
        for left, right, how in pairs
        if how in _HOLDS and graph.nodes[left].shape.dtype.startswith("f")
        and graph.nodes[left].shape.dimensions == graph.nodes[right].shape.dimensions
    ]  # fmt: skip


def _first(*numbers: float | None) -> float | None:
    return next((each for each in numbers if each is not None), None)


def _given(graph: Graph) -> set[int]:
    """Values that a parameter has a part in."""
    found = set(graph.parameters)
    for node in graph:
        if any(operand in found for operand in node.operands):
            found.add(node.id)
    return found


def _number(graph: Graph, key: int) -> float | None:
    literal = graph.constant(key)
    return None if literal is None or literal.size != 1 else float(literal.reshape(()))


def _is_finite(graph: Graph, condition: Condition) -> bool:
    numbers = (_number(graph, key) for key in (condition.left, condition.right))
    return all(number is None or np.isfinite(number) for number in numbers)
