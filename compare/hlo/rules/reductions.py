"""Rules of reductions: dimensions in one order, none of size 1."""

from __future__ import annotations

from compare.hlo.graph import Node, Shape
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import only, reshape, spread, squeeze, transpose


def _reduce(node: Node, key: int, dimensions: tuple[int, ...], shape: Shape, graph: Writer) -> int:
    attributes = (("dimensions", dimensions),)
    return graph.add("reduce", shape, (key, node.operands[1]), attributes, regions=node.regions)


def _is_plain(node: Node) -> bool:
    """Whether one array is reduced: several have two operands each."""
    return len(node.operands) == 2


def _sort_dimensions(node: Node, graph: Writer) -> int | None:
    along = node.attribute("dimensions", ())
    if list(along) == sorted(along):
        return None
    return graph.add("reduce", node.shape, node.operands, (("dimensions", tuple(sorted(along))),), regions=node.regions)


def _squeeze(node: Node, graph: Writer) -> int | None:
    if not _is_plain(node):
        return None
    source = graph[node.operands[0]].shape.dimensions
    along = node.attribute("dimensions", ())
    axes = [axis for axis, size in enumerate(source) if size != 1]
    small = tuple(axes.index(axis) for axis in along if axis in axes)
    if len(axes) == len(source) or (along and not small):
        return None
    key = reshape(node.operands[0], squeeze(source), graph)
    result = _reduce(node, key, small, Shape(node.shape.dtype, squeeze(node.shape.dimensions)), graph)
    return reshape(result, node.shape.dimensions, graph)


def _of_one(node: Node, graph: Writer) -> int | None:
    """Nothing is reduced but the initial value and one element."""
    if not _is_plain(node) or only(node) is None:
        return None
    source = graph[node.operands[0]].shape.dimensions
    if any(source[axis] != 1 for axis in node.attribute("dimensions", ())):
        return None
    key = reshape(node.operands[0], node.shape.dimensions, graph)
    start = spread(node.operands[1], node.shape.dimensions, graph)
    return graph.add(only(node) or "", node.shape, (start, key))


def _absorb_transpose(node: Node, graph: Writer) -> int | None:
    inner = graph[node.operands[0]] if _is_plain(node) else None
    if inner is None or inner.opcode != "transpose":
        return None
    order = inner.attribute("dimensions")
    along = [order[axis] for axis in node.attribute("dimensions", ())]
    if along != sorted(along):
        return None
    rest = [order[axis] for axis in range(len(order)) if axis not in node.attribute("dimensions", ())]
    source = graph[inner.operands[0]].shape.dimensions
    shape = Shape(node.shape.dtype, tuple(source[axis] for axis in sorted(rest)))
    result = _reduce(node, inner.operands[0], tuple(along), shape, graph)
    return transpose(result, [sorted(rest).index(axis) for axis in rest], graph)


def _window_of_ones(node: Node, graph: Writer) -> int | None:
    """A window of one element that moves by one, and nothing is padded."""
    if not _is_plain(node) or only(node) is None:
        return None
    window = [dict(fields) for fields in dict(node.attribute("window", ())).get("dimensions", ())]
    if any(dimension.get("size", 1) != 1 for dimension in window) or node.shape != graph[node.operands[0]].shape:
        return None
    if any(dimension.get("padding_low") or dimension.get("padding_high") for dimension in window):
        return None
    return again_of_one(node, graph)


def again_of_one(node: Node, graph: Writer) -> int:
    """The initial value with each element."""
    start = spread(node.operands[1], node.shape.dimensions, graph)
    return graph.add(only(node) or "", node.shape, (start, node.operands[0]))


REDUCTIONS = (
    Rule("reduced dimensions sorted", "a reduction has no order of its dimensions", ("reduce",), _sort_dimensions),
    Rule("reductions of one", "a reduction of one element is the initial value with it", ("reduce",), _of_one),
    Rule("reductions without size 1", "a reduction has no dimensions of size 1", ("reduce",), _squeeze),
    Rule("windows of one", "a window of one element is the initial value with it", ("reduce-window",), _window_of_ones),
    Rule(
        "transposes in reductions",
        "a transpose of what is reduced is one of the result",
        ("reduce",),
        _absorb_transpose,
    ),
)
"""In the order in which they are tried."""
