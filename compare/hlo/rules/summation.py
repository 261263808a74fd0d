"""Rules that leave the terms of a sum alone and change the order in which they are added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from compare.hlo.graph import Node
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import is_float, is_splat, only, transpose
from compare.hlo.rules.products import product, product_of


def _reduces(node: Node, opcode: str = "reduce") -> bool:
    return node.opcode == opcode and len(node.operands) == 2 and only(node) in ("add", "maximum", "minimum")


def _joined_reductions(node: Node, graph: Writer) -> int | None:
    """A reduction of a reduction by the same operation, each from its neutral element."""
    inner = graph[node.operands[0]] if _reduces(node) else None
    if inner is None or not _reduces(inner) or not _joins(node, inner, graph):
        return None
    rank, inner_axes = len(graph[inner.operands[0]].shape.dimensions), inner.attribute("dimensions", ())
    rest = [axis for axis in range(rank) if axis not in inner_axes]
    along = {*inner_axes, *(rest[axis] for axis in node.attribute("dimensions", ()))}
    attributes = (("dimensions", tuple(sorted(along))),)
    return graph.add("reduce", node.shape, inner.operands, attributes, regions=node.regions)


def _joined_windows(node: Node, graph: Writer) -> int | None:
    """A reduction of what was reduced in tiles before."""
    inner = graph[node.operands[0]] if _reduces(node) else None
    if inner is None or not _reduces(inner, "reduce-window") or not _joins(node, inner, graph):
        return None
    tiles = [dict(dimension) for dimension in dict(inner.attribute("window", ())).get("dimensions", ())]
    whole = graph[inner.operands[0]].shape.dimensions
    along = node.attribute("dimensions", ())
    for axis, (tile, size, count) in enumerate(zip(tiles, whole, inner.shape.dimensions, strict=True)):
        if not _is_tiling(tile, size, count) or (tile.get("size", 1) != 1 and axis not in along):
            return None
    return graph.add("reduce", node.shape, inner.operands, node.attributes, regions=node.regions)


def _is_tiling(tile: dict[str, int], size: int, count: int) -> bool:
    """Whether every element is in one window, and in one only."""
    plain = tile.get("window_dilation", 1) == 1 and tile.get("base_dilation", 1) == 1
    first = tile.get("padding_low", 0)
    reach = count * tile.get("size", 1) - first
    return plain and tile.get("size", 1) == tile.get("stride", 1) and first >= 0 and reach >= size


def _joins(node: Node, inner: Node, graph: Writer) -> bool:
    if only(inner) != only(node) or inner.operands[1] != node.operands[1]:
        return False
    if not is_float(node.shape):
        return only(node) == "add" and is_splat(node.operands[1], graph, 0)
    starts = {"add": (0.0, -0.0), "maximum": (-np.inf,), "minimum": (np.inf,)}[only(node) or ""]
    return any(is_splat(node.operands[1], graph, start) for start in starts)


def _contracted_in_order(node: Node, graph: Writer) -> int | None:
    if len(node.operands) != 2:
        return None
    left, right = product_of(node, graph)
    order = sorted(range(len(left.contracted)), key=lambda position: left.contracted[position])
    if order == list(range(len(order))):
        return None
    pair = [
        replace(operand, contracted=tuple(operand.contracted[position] for position in order))
        for operand in (left, right)
    ]
    return product(pair[0], pair[1], node, graph)


def _transposed_product(node: Node, graph: Writer) -> int | None:
    """The order of operands by which less of the result is transposed."""
    inner = graph[node.operands[0]]
    if inner.opcode != "dot" or len(inner.operands) != 2:
        return None
    left, right = product_of(inner, graph)
    batches, rows, columns = len(left.batch), len(left.free), len(right.free)
    # Where each dimension of the product is once its operands have changed places.
    places = [
        *range(batches),
        *(batches + columns + position for position in range(rows)),
        *range(batches, batches + columns),
    ]
    order = node.attribute("dimensions")
    new_order = [places[position] for position in order]
    here, there = _inversions(order), _inversions(new_order)
    if there > here or (there == here and graph.digests[left.key] <= graph.digests[right.key]):
        return None
    return transpose(product(right, left, inner, graph), new_order, graph)


def _inversions(order: Sequence[int]) -> int:
    return sum(order[index] > later for index in range(len(order)) for later in order[index + 1 :])


SUMMATION = (
    Rule("reductions joined", "a sum of sums is one sum, in another order", ("reduce",), _joined_reductions,
         numerics=True),
    Rule("tiles joined", "a sum of the sums of tiles is one sum, in another order", ("reduce",), _joined_windows,
         numerics=True),
    Rule("contractions ordered", "what a product contracts in the order of its left operand, added up in another order",
         ("dot",), _contracted_in_order, numerics=True),
    Rule("transposed products", "(a b)' is b' a', added up in another order", ("transpose",), _transposed_product,
         numerics=True),
)  # fmt: skip
"""In the order in which they are tried."""
