"""Bytes that one operation of an optimized module reads and writes, by the shapes of its operands and results."""

from __future__ import annotations

from compare.hlo.compiled import bytes_of
from compare.hlo.graph import Graph, Node

_PARTS = frozenset({"slice", "dynamic-slice", "gather"})
"""Operations that read a part of their first operand."""


def traffic(node: Node, graph: Graph) -> int:
    """Bytes that an operation moves: operands, of which it may read a part, and results, of which it may write one."""
    operands = [graph.nodes[key] for key in node.operands]
    if node.opcode != "fusion":
        return _alone(node, operands)
    (inside,) = node.regions
    pairs = zip(inside.parameters, operands, strict=True)
    read = sum(_read(inside, key, bytes_of(operand.shape)) for key, operand in pairs)
    return read + sum(_write(inside, key) for key in inside.results)


def _alone(node: Node, operands: list[Node]) -> int:
    if node.opcode in _PARTS:
        return 2 * bytes_of(node.shape)
    if node.opcode == "dynamic-update-slice":
        return 2 * bytes_of(operands[1].shape)
    return _results(node) + sum(bytes_of(operand.shape) for operand in operands)


def _results(node: Node) -> int:
    """Bytes of a result, without a library's workspace: XLA makes it the last part of what the call returns."""
    parts = node.shape.parts
    if node.opcode == "custom-call" and len(parts) > 1 and parts[-1].dtype in ("s8", "u8"):
        return sum(map(bytes_of, parts[:-1]))
    return bytes_of(node.shape)


def _read(inside: Graph, parameter: int, whole: int) -> int:
    """Bytes of a fusion's operand that are read."""
    readers = [node for node in inside if parameter in node.operands]
    read = 0
    for node in readers:
        if node.opcode in _PARTS and node.operands[0] == parameter:
            read += bytes_of(node.shape)
        elif not (node.opcode == "dynamic-update-slice" and node.operands[0] == parameter):
            return whole
    return min(read, whole)


def _write(inside: Graph, key: int) -> int:
    """Bytes of a fusion's result that are written: an update in place writes no more than what is new."""
    node = inside.nodes[inside.original_of(key)]
    if node.opcode == "dynamic-update-slice":
        return bytes_of(inside.nodes[node.operands[1]].shape)
    return bytes_of(inside.nodes[key].shape)
