"""Constants that a program decides by: what it compares with, clamps to, and takes the larger or smaller of."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from compare.hlo.graph import Graph

_DECIDES = ("compare", "clamp", "maximum", "minimum")
_HANDS_ON = ("broadcast", "reshape", "transpose", "copy", "bitcast", "convert", "slice", "concatenate", "reverse")
_ROUNDS = ("round-nearest-even", "round-nearest-afz", "floor", "ceil")
_SCALES = ("multiply", "divide")
_HALVES = (0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1.0, -1.0)
_MOST_FACTORS = 5
_MOST_ELEMENTS = 16
"""A larger constant is a table or weights."""


def thresholds(graph: Graph) -> tuple[float | int, ...]:
    """The finite constants that values are compared with, integers as int, in program order and each once."""
    return tuple(dict.fromkeys(_constants(graph, _DECIDES)))


def ties(graph: Graph) -> tuple[float, ...]:
    """Numbers that a program which rounds decides by: halves and whole numbers, times and over each factor that it has.

    `round(x / 4)` decides at 2, -6 and so on; on either side of these, formulas that break ties otherwise agree.
    """
    if not any(node.opcode in _ROUNDS for node in graph.walk()):
        return ()
    scales = [abs(float(number)) for number in _constants(graph, _SCALES) if number]
    factors = list(dict.fromkeys([1.0, *(factor for scale in scales for factor in (scale, 1 / scale))]))
    return tuple(dict.fromkeys(half * factor for factor in factors[:_MOST_FACTORS] for half in _HALVES))


def _constants(graph: Graph, opcodes: Collection[str]) -> Iterator[float | int]:
    """The finite constants among the operands of some operations, those in loops and branches too, in program order."""
    for node in graph:
        if node.opcode in opcodes:
            for key in node.operands:
                yield from _numbers(graph.constant(key))
        for region in node.regions:
            yield from _constants(region, opcodes)


def thresholds_of(graph: Graph, parameter: int) -> tuple[float | int, ...]:
    """The finite numbers that a program compares one parameter itself with, each once.

    What is computed of it is not followed: only what hands its values on.
    """
    numbers: dict[float | int, None] = {}
    start = graph.parameters[parameter]
    seen_keys, waiting = {start}, [start]
    while waiting:
        key = waiting.pop()
        for user in graph.users[key]:
            node = graph.nodes[user]
            if node.opcode in _DECIDES:
                for operand in node.operands:
                    numbers |= dict.fromkeys(_numbers(graph.constant(operand)))
            elif node.opcode in _HANDS_ON and user not in seen_keys:
                seen_keys.add(user)
                waiting.append(user)
    return tuple(numbers)


def _numbers(literal: np.ndarray | None) -> list[float | int]:
    if literal is None or literal.size > _MOST_ELEMENTS or literal.dtype.kind not in "fiu":
        return []
    return [number for number in np.ravel(literal).tolist() if np.isfinite(number)]
