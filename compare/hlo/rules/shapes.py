"""Rules of shape: reshapes, broadcasts and transposes in one form, elementwise work where it is smallest.

Elementwise operations, broadcasts and transposes are written without dimensions of size 1. A reshape, broadcast or
transpose of all operands of an elementwise operation is written after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from compare.hlo.graph import Node, Shape
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import (
    ELEMENTWISE,
    again,
    broadcast,
    groups,
    reshape,
    splat,
    spread,
    squeeze,
    transpose,
)

_MOVES = ("reshape", "transpose", "broadcast")


def _join_reshapes(node: Node, graph: Writer) -> int | None:
    if graph[node.operands[0]].opcode != "reshape":
        return None
    return graph.add("reshape", node.shape, graph[node.operands[0]].operands)


def _join_transposes(node: Node, graph: Writer) -> int | None:
    inner = graph[node.operands[0]]
    if inner.opcode != "transpose":
        return None
    order = [inner.attribute("dimensions")[axis] for axis in node.attribute("dimensions")]
    return transpose(inner.operands[0], order, graph)


def _join_broadcasts(node: Node, graph: Writer) -> int | None:
    inner = graph[node.operands[0]]
    if inner.opcode != "broadcast":
        return None
    onto = [node.attribute("dimensions", ())[axis] for axis in inner.attribute("dimensions", ())]
    return broadcast(inner.operands[0], onto, node.shape.dimensions, graph)


def _order_broadcast(node: Node, graph: Writer) -> int | None:
    onto = node.attribute("dimensions", ())
    if list(onto) == sorted(onto):
        return None
    order = sorted(range(len(onto)), key=lambda axis: onto[axis])
    return broadcast(transpose(node.operands[0], order, graph), sorted(onto), node.shape.dimensions, graph)


def _broadcast_moved(node: Node, graph: Writer) -> int | None:
    """A transpose or reshape of a broadcast, where it can be a broadcast to begin with."""
    inner = graph[node.operands[0]]
    if inner.opcode != "broadcast":
        return None
    onto = inner.attribute("dimensions", ())
    if node.opcode == "transpose":
        order = node.attribute("dimensions")
        return broadcast(inner.operands[0], [order.index(axis) for axis in onto], node.shape.dimensions, graph)
    if not onto:
        return spread(inner.operands[0], node.shape.dimensions, graph)
    new_onto = _onto_reshaped(onto, inner.shape.dimensions, node.shape.dimensions)
    return None if new_onto is None else broadcast(inner.operands[0], new_onto, node.shape.dimensions, graph)


def _onto_reshaped(onto: Sequence[int], before: Sequence[int], after: Sequence[int]) -> list[int] | None:
    if 0 in before or 1 in (*before, *after):
        return None
    new_onto: list[int] = []
    for left, right in groups(before, after):
        if not set(left) & set(onto):
            continue
        if len(left) != 1 or len(right) != 1:
            return None
        new_onto.append(right[0])
    return new_onto


def _squeeze_broadcast(node: Node, graph: Writer) -> int | None:
    onto = node.attribute("dimensions", ())
    if not onto or 1 not in node.shape.dimensions:
        return None
    axes = [axis for axis, size in enumerate(node.shape.dimensions) if size != 1]
    small = reshape(node.operands[0], squeeze(graph[node.operands[0]].shape.dimensions), graph)
    result = broadcast(
        small, [axes.index(axis) for axis in onto if axis in axes], squeeze(node.shape.dimensions), graph
    )
    return reshape(result, node.shape.dimensions, graph)


def _squeeze_transpose(node: Node, graph: Writer) -> int | None:
    if 1 not in node.shape.dimensions:
        return None
    source = graph[node.operands[0]].shape.dimensions
    axes = [axis for axis, size in enumerate(source) if size != 1]
    order = [axes.index(axis) for axis in node.attribute("dimensions") if axis in axes]
    return reshape(
        transpose(reshape(node.operands[0], squeeze(source), graph), order, graph), node.shape.dimensions, graph
    )


def _squeeze_elementwise(node: Node, graph: Writer) -> int | None:
    if 1 not in node.shape.dimensions:
        return None
    small = Shape(node.shape.dtype, squeeze(node.shape.dimensions))
    operands = [reshape(key, small.dimensions, graph) if graph[key].shape.dimensions else key for key in node.operands]
    return reshape(again(node, operands, small, graph), node.shape.dimensions, graph)


def _spread_scalars(node: Node, graph: Writer) -> int | None:
    """`clamp` and `select` take scalars beside arrays."""
    if not node.shape.dimensions:
        return None
    if all(graph[key].shape.dimensions for key in node.operands):
        return None
    operands = [
        key if graph[key].shape.dimensions else spread(key, node.shape.dimensions, graph) for key in node.operands
    ]
    return again(node, operands, node.shape, graph)


def _sink(node: Node, graph: Writer) -> int | None:
    """f(move(x), move(y)) is move(f(x, y)), for every way to move elements; numbers are the same wherever moved."""
    if not node.shape.dimensions or node.shape.elements == 0:
        return None
    if all(graph[key].opcode not in _MOVES for key in node.operands):
        return None
    keys = [key for key in node.operands if splat(key, graph) is None]
    first = graph[keys[0]] if keys else graph[node.operands[0]]
    if first.opcode not in _MOVES:
        return None
    if any(not _moves_alike(graph[key], first, graph) for key in keys):
        return None
    source = graph[first.operands[0]].shape.dimensions
    source = squeeze(source) if first.opcode == "reshape" else source
    if source == node.shape.dimensions and first.opcode == "reshape":
        return None
    operands = [_source(key, source, graph) for key in node.operands]
    small = again(node, operands, Shape(node.shape.dtype, source), graph)
    fields = {"operands": (small,), "shape": node.shape, "attributes": first.attributes}
    return graph.add("reshape", node.shape, (small,)) if first.opcode == "reshape" else _move(first, fields, graph)


def _move(first: Node, fields: dict[str, object], graph: Writer) -> int:
    node = first.but(**fields)
    return graph.add(node.opcode, node.shape, node.operands, node.attributes)


def _moves_alike(node: Node, first: Node, graph: Writer) -> bool:
    if node.opcode != first.opcode or node.attributes != first.attributes:
        return False
    here, there = (graph[operation.operands[0]].shape.dimensions for operation in (node, first))
    return squeeze(here) == squeeze(there) if node.opcode == "reshape" else here == there


def _source(key: int, dimensions: tuple[int, ...], graph: Writer) -> int:
    """The operand before it was moved; of a number, as many of them."""
    node = graph[key]
    if splat(key, graph) is None:
        return reshape(node.operands[0], dimensions, graph) if node.opcode == "reshape" else node.operands[0]
    return spread(node.operands[0] if node.opcode == "broadcast" else key, dimensions, graph)


def _iota_by_row(node: Node, graph: Writer) -> int | None:
    if len(node.shape.dimensions) < 2:
        return None
    (along,) = node.attribute("dimensions")
    row = Shape(node.shape.dtype, (node.shape.dimensions[along],))
    return broadcast(graph.add("iota", row, (), (("dimensions", (0,)),)), (along,), node.shape.dimensions, graph)


SHAPES = (
    Rule("reshapes joined", "a reshape of a reshape is one reshape", ("reshape",), _join_reshapes),
    Rule("transposes joined", "a transpose of a transpose is one transpose", ("transpose",), _join_transposes),
    Rule("broadcasts joined", "a broadcast of a broadcast is one broadcast", ("broadcast",), _join_broadcasts),
    Rule("broadcasts in order", "a broadcast that permutes dimensions is one of a transpose", ("broadcast",),
         _order_broadcast),
    Rule("broadcasts moved", "a transposed or reshaped broadcast is a broadcast", ("transpose", "reshape"),
         _broadcast_moved),
    Rule("iotas by row", "an iota of several dimensions is a broadcast of one of a single dimension", ("iota",),
         _iota_by_row),
    Rule("broadcasts without size 1", "dimensions of size 1 are added by a reshape", ("broadcast",),
         _squeeze_broadcast),
    Rule("transposes without size 1", "a transpose has no dimensions of size 1", ("transpose",), _squeeze_transpose),
    Rule("scalars spread", "a scalar beside arrays stands in every place of one", ("clamp", "select"), _spread_scalars),
    Rule("elementwise without size 1", "elementwise work has no dimensions of size 1", ELEMENTWISE,
         _squeeze_elementwise),
    Rule("elementwise first", "elementwise work on values moved alike is done before they are moved", ELEMENTWISE,
         _sink),
)  # fmt: skip
"""In the order in which they are tried."""
