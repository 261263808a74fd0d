"""What a node of a graph is, for two graphs to be held against each other: operation, inputs, attributes, value."""

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
"""No two of these are the same, whatever their attributes are."""

_FUSED_OPS = "fused_ops"


def by_name(nodes: Sequence[OptimizedNode]) -> dict[str, OptimizedNode]:
    """A graph of its nodes."""
    return {node.name: node for node in nodes}


def node_of(tensor: str) -> str:
    """The name of the node that a tensor is of, or that is waited for: "a:1", "a:output:0" and "^a" are of "a"."""
    return tensor.removeprefix("^").partition(":")[0]


def names_called(nodes: Iterable[OptimizedNode]) -> set[str]:
    """The functions that nodes name, and some texts that name none: an attribute does not say what it is."""
    return {name for node in nodes for text in node.attributes.values() for name in text.split(", ")}


def function_of(node: OptimizedNode) -> str:
    """The function that a node is of, if it is of one: else a scope of names, or its own name."""
    return node.name.partition("/")[0]


def data(node: OptimizedNode) -> list[str]:
    """The tensors that a node reads."""
    return [tensor for tensor in node.inputs if not tensor.startswith("^")]


def waits(node: OptimizedNode) -> set[str]:
    """The nodes that it only waits for."""
    return {control_input for control_input in node.inputs if control_input.startswith("^")}


def reads(node: OptimizedNode) -> set[str]:
    """The names of all that it reads or waits for."""
    return set(map(node_of, node.inputs))


def value(node: OptimizedNode) -> str:
    """Equal of constants that hold the same; empty of anything else."""
    return node.constant.sha256 if node.constant else ""


def difference(before: OptimizedNode, after: OptimizedNode) -> str:
    """The most telling difference of two nodes of one name; empty where there is none."""
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
    """Whether a node is as another in what a kind of change is about; None is a node that is not there.

    Args:
      kind: of `difference`, or of a node that is there on one side alone.
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
