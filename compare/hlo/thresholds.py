"""Constants that a program decides by: what it compares with, clamps to, and takes the larger or smaller of."""

from __future__ import annotations

import numpy as np

from compare.hlo.graph import Graph

_DECIDES = ("compare", "clamp", "maximum", "minimum")
_HANDS_ON = ("broadcast", "reshape", "transpose", "copy", "bitcast", "convert", "slice", "concatenate", "reverse")
_MOST_ELEMENTS = 16
"""A larger constant is a table or weights."""


def thresholds(graph: Graph) -> tuple[float | int, ...]:
    """The finite numbers that values are held against, integers as int, in program order and each once."""
    numbers: dict[float | int, None] = {}
    for node in graph:
        if node.opcode in _DECIDES:
            for key in node.operands:
                numbers |= dict.fromkeys(_numbers(graph.constant(key)))
        for region in node.regions:
            numbers |= dict.fromkeys(thresholds(region))
    return tuple(numbers)


def thresholds_of(graph: Graph, parameter: int) -> tuple[float | int, ...]:
    """The finite numbers that a program compares one parameter itself with, each once.

    What is computed of it is not followed: only what hands its values on.
    """
    numbers: dict[float | int, None] = {}
    start = graph.parameters[parameter]
    seen, waiting = {start}, [start]
    while waiting:
        key = waiting.pop()
        for user in graph.users[key]:
            node = graph.nodes[user]
            if node.opcode in _DECIDES:
                for operand in node.operands:
                    numbers |= dict.fromkeys(_numbers(graph.constant(operand)))
            elif node.opcode in _HANDS_ON and user not in seen:
                seen.add(user)
                waiting.append(user)
    return tuple(numbers)


def _numbers(literal: np.ndarray | None) -> list[float | int]:
    if literal is None or literal.size > _MOST_ELEMENTS or literal.dtype.kind not in "fiu":
        return []
    return [number for number in np.ravel(literal).tolist() if np.isfinite(number)]
