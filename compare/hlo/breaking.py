"""Finds the first operation of a program whose values are far from those of the same program in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import levels, values
from compare.hlo.graph import Graph, Node
from compare.hlo.levels import Subject

_HANDS_ON = ("parameter", "constant", "broadcast", "reshape", "transpose", "copy", "bitcast", "get-tuple-element")


@dataclass(frozen=True)
class Broken:
    """The operation, as HLO calls it, and the user's line; `line` is "" where nothing tells it."""

    opcode: str
    line: str


def first_broken(
    program: Subject, exact: Subject, result: int, far: Sequence[np.ndarray], near: Sequence[np.ndarray], unit: float
) -> Broken | None:
    """The first operation on the way to a result that is not finite, or has lost half of its digits, by itself.

    None if there is no such operation, or if the structures of the two programs differ.

    Args:
      result: position of the result that broke.
      near: arguments for which it did not: what is infinite there is meant to be.
      unit: the unit roundoff of the program's type.

    Raises:
      UnreadableProgram: XLA cannot run one of them with all of its values as results.
    """
    graph, wide = levels.read(program), levels.read(exact)
    if [node.opcode for node in graph] != [node.opcode for node in wide]:
        return None
    twins = dict(zip(graph.nodes, wide.nodes, strict=True))
    keys = [key for key in _way(graph, graph.results[result]) if _is_float(graph.nodes[key])]
    running = values.prepare(graph, keys)
    broken, usual = running(far), running(near)
    expected = values.prepare(wide, [twins[key] for key in keys])([_widen(array) for array in far])
    losses = {key: _has_lost_digits(broken[key], usual[key], expected[twins[key]], unit) for key in broken}
    for key in keys:
        node = graph.nodes[key]
        if (
            losses.get(key)
            and node.opcode not in _HANDS_ON
            and not any(losses.get(operand) for operand in node.operands)
        ):
            return Broken(node.opcode, node.source)
    return None


def line_of(program: Subject, result: int) -> str:
    """The user's line of what computes a result; "" where nothing tells it."""
    graph = levels.read(program)
    key = graph.results[result]
    while graph.nodes[key].opcode in _HANDS_ON and graph.nodes[key].operands:
        key = graph.nodes[key].operands[0]
    return graph.nodes[key].source


def _way(graph: Graph, end: int) -> list[int]:
    """Every value that a value depends on, operands first."""
    keys, waiting = {end}, [end]
    while waiting:
        new = [operand for operand in graph.nodes[waiting.pop()].operands if operand not in keys]
        keys.update(new)
        waiting += new
    return [key for key in graph.nodes if key in keys]


def _is_float(node: Node) -> bool:
    return node.shape.is_array and node.shape.dtype in ("f32", "f16", "bf16")


def _widen(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "biuc" else array.astype(np.float64)


def _has_lost_digits(broken: np.ndarray, usual: np.ndarray, expected: np.ndarray, unit: float) -> bool:
    broken, usual, expected = (np.asarray(values, np.float64) for values in (broken, usual, expected))
    if np.count_nonzero(~np.isfinite(broken)) > np.count_nonzero(~np.isfinite(usual)):
        return True
    both = np.isfinite(broken) & np.isfinite(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.max(np.abs(expected), where=both, initial=0.0)
        return bool(np.max(np.abs(broken - expected), where=both, initial=0.0) > math.sqrt(unit) * scale)
