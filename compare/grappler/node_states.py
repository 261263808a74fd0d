"""Reads and compares the nodes of a graph: operation, inputs, attributes and value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from compare.record.grappler_part import (
    ATTRIBUTES,
    FOLDED,
    FUSED,
    REORDERED,
    REPLACED,
    REWIRED,
    VALUE,
    WAITS,
    OptimizedNode,
)

Graph = Mapping[str, OptimizedNode]
"""By name."""

CONSTANT = "Const"
ARGUMENTS = ("_Arg", "_DeviceArg")
"""Operations of arguments: two nodes are never equal, even with equal attributes."""

_FUSED_OPS = "fused_ops"


def by_name(nodes: Sequence[OptimizedNode]) -> dict[str, OptimizedNode]:
    """The graph of these nodes."""
    return {node.name: node for node in nodes}


def node_of(tensor: str) -> str:
    """The node of a tensor or control input: "a" for "a:1", "a:output:0" and "^a"."""
    return tensor.removeprefix("^").partition(":")[0]


def names_called(nodes: Iterable[OptimizedNode]) -> set[str]:
    """Names of functions that the nodes call; attributes are untyped here, so other texts are included too."""
    return {name for node in nodes for text in node.attributes.values() for name in text.split(", ")}


def function_of(node: OptimizedNode) -> str:
    """The function that contains a node; for a node outside functions, its first name scope or its own name."""
    return node.name.partition("/")[0]


def data(node: OptimizedNode) -> list[str]:
    """The tensors that a node reads."""
    return [tensor for tensor in node.inputs if not tensor.startswith("^")]


def waits(node: OptimizedNode) -> set[str]:
    """The control inputs of a node."""
    return {control_input for control_input in node.inputs if control_input.startswith("^")}


def reads(node: OptimizedNode) -> set[str]:
    """The names of all nodes that a node reads or waits for."""
    return set(map(node_of, node.inputs))


def value(node: OptimizedNode) -> str:
    """A digest of a constant's value; empty for other operations."""
    return node.constant.sha256 if node.constant else ""


def difference(before: OptimizedNode, after: OptimizedNode) -> str:
    """The most important difference between two nodes with the same name; empty if they are equal."""
    if before.op != after.op:
        return _replacement(before, after)
    differences = {
        VALUE: value(before) != value(after),
        REORDERED: data(before) != data(after) and sorted(data(before)) == sorted(data(after)),
        REWIRED: sorted(data(before)) != sorted(data(after)),
        ATTRIBUTES: dict(before.attributes) != dict(after.attributes),
        WAITS: waits(before) != waits(after),
    }
    return next((kind for kind, differs in differences.items() if differs), "")


def _replacement(before: OptimizedNode, after: OptimizedNode) -> str:
    if after.op == CONSTANT:
        return FOLDED
    is_fused = after.attributes.get(_FUSED_OPS, "") not in ("", "[]", before.attributes.get(_FUSED_OPS, ""))
    return FUSED if is_fused else REPLACED


def is_as(node: OptimizedNode | None, other: OptimizedNode | None, kind: str) -> bool:
    """Whether two nodes are equal in the respect that a kind of change concerns; None stands for an absent node.

    Args:
      kind: a result of `difference`, or the kind of a node that one graph lacks.
    """
    if node is None or other is None:
        return node is other
    same = node.op == other.op
    if kind in (REORDERED, REWIRED):
        return same and data(node) == data(other)
    if kind == ATTRIBUTES:
        return same and dict(node.attributes) == dict(other.attributes)
    if kind == WAITS:
        return waits(node) == waits(other)
    return same and value(node) == value(other)
