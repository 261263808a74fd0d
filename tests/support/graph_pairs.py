"""Small graphs before and after the optimizer, made by hand."""

from __future__ import annotations

import hashlib

from compare.grappler.aligning import align_nodes, explain_rewrites, group_rewrites
from compare.record.grappler_part import HeldConstant, NodeRewrite, OptimizedNode

Nodes = tuple[OptimizedNode, ...]


def node(name: str, op: str, *inputs: str, **attributes: str) -> OptimizedNode:
    """A node; a line of its own where `line` is given."""
    line = attributes.pop("line", "")
    source = "/home/me/model.py:7" if line else ""
    return OptimizedNode(name=name, op=op, inputs=inputs, attributes=attributes, source=source, line=line)


def constant(name: str, text: str, *inputs: str) -> OptimizedNode:
    """A constant, a float32."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    held = HeldConstant(dtype="float32", bytes=4, sha256=digest, text=text)
    return OptimizedNode(name=name, op="Const", inputs=inputs, constant=held)


BEFORE: Nodes = (
    node("x", "_Arg"),
    constant("pow/y", "2.0"),
    node("pow", "Pow", "x", "pow/y", T="float32", line="x**2"),
    constant("mul/y", "3.0"),
    node("mul", "Mul", "pow", "mul/y", "^wait"),
    node("wait", "PrintV2", "x"),
    node("Identity", "Identity", "mul"),
    node("result", "_Retval", "Identity"),
)

AFTER: Nodes = (
    node("x", "_Arg"),
    node("pow", "Square", "x", T="float32", line="x**2"),
    constant("mul/y", "3.0"),
    node("mul", "Mul", "mul/y", "pow", "^wait"),
    node("wait", "PrintV2", "x"),
    node("result", "_Retval", "mul"),
)


def changes(before: Nodes, after: Nodes) -> dict[str, NodeRewrite]:
    """By node, what became of it; no pass is known."""
    return {each.name: each for each in group_rewrites(explain_rewrites(align_nodes(before, after), before, after))}


def kinds(before: Nodes, after: Nodes) -> dict[str, str]:
    """By node, the kind of its change."""
    return {name: each.kind for name, each in changes(before, after).items()}
