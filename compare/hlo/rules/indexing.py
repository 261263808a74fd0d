"""Rules of slices, gathers and scatters: what XLA does to indices anyway is left out, one index is a slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compare.hlo.graph import Attributes, Node, Shape
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import INTEGERS, fill, is_integer, reshape, splat

_NUMBERS = {"gather": "gather_dimension_numbers", "scatter": "scatter_dimension_numbers"}
_FIRST_INDEX = {"gather": 1, "scatter": 1, "dynamic-slice": 1, "dynamic-update-slice": 2}
"""By opcode, the position of the first operand with indices."""
_BATCHING = {"gather": "start_indices_batching_dims", "scatter": "scatter_indices_batching_dims"}


def _with(node: Node, name: str, new_fields: Mapping[str, Any]) -> Attributes:
    """The attributes with some fields of one message changed; fields that are 0 or empty are not written."""
    fields = {**dict(node.attribute(name, ())), **new_fields}
    order = [
        "offset_dims", "update_window_dims", "collapsed_slice_dims", "inserted_window_dims", "start_index_map",
        "scatter_dims_to_operand_dims", "index_vector_dim", "operand_batching_dims", "input_batching_dims",
        "start_indices_batching_dims", "scatter_indices_batching_dims",
    ]  # fmt: skip
    message = tuple((field, fields[field]) for field in order if fields.get(field))
    return tuple(sorted((*(attribute for attribute in node.attributes if attribute[0] != name), (name, message))))


def _implicit_vectors(node: Node, graph: Writer) -> int | None:
    """An index vector of one number needs no dimension of its own."""
    if node.opcode == "scatter" and len(node.operands) != 3:
        return None
    numbers = dict(node.attribute(_NUMBERS[node.opcode], ()))
    along = numbers.get("index_vector_dim", 0)
    indices = graph[node.operands[1]].shape.dimensions
    if along >= len(indices) or indices[along] != 1:
        return None
    rest = [size for axis, size in enumerate(indices) if axis != along]
    batching = tuple(axis - (axis > along) for axis in numbers.get(_BATCHING[node.opcode], ()))
    new_fields = {"index_vector_dim": len(rest), _BATCHING[node.opcode]: batching}
    operands = [*node.operands]
    operands[1] = reshape(node.operands[1], rest, graph)
    attributes = _with(node, _NUMBERS[node.opcode], new_fields)
    return graph.add(node.opcode, node.shape, operands, attributes, regions=node.regions)


def _narrow_indices(node: Node, graph: Writer) -> int | None:
    if node.opcode == "scatter" and len(node.operands) != 3:
        return None
    first = _FIRST_INDEX[node.opcode]
    last = 2 if node.opcode in _NUMBERS else len(node.operands)
    operands = [narrow(key, graph) if first <= index < last else key for index, key in enumerate(node.operands)]
    if tuple(operands) == node.operands:
        return None
    # All start indices of a slice are of one type.
    if len({graph[key].shape.dtype for key in operands[first:last]}) != 1:
        return None
    return graph.add(node.opcode, node.shape, operands, node.attributes, regions=node.regions)


def narrow(key: int, graph: Writer) -> int:
    """Integers before they were converted to a wider type that holds them all."""
    node = graph[key]
    if node.opcode == "reshape" and graph[node.operands[0]].opcode == "convert":
        inner = narrow(node.operands[0], graph)
        return key if inner == node.operands[0] else reshape(inner, node.shape.dimensions, graph)
    source = graph[node.operands[0]].shape if node.opcode == "convert" else node.shape
    if not is_integer(source) or not is_integer(node.shape) or source.dtype[0] != node.shape.dtype[0]:
        return key
    return node.operands[0] if INTEGERS[source.dtype] < INTEGERS[node.shape.dtype] else key


def _drop_clamps(key: int, highest: int, graph: Writer) -> int:
    """An index before it was clamped to a range that holds 0..highest: XLA clamps it to those itself."""
    node = graph[key]
    if node.opcode == "reshape":
        inner = _drop_clamps(node.operands[0], highest, graph)
        return key if inner == node.operands[0] else reshape(inner, node.shape.dimensions, graph)
    if node.opcode == "clamp" and is_integer(node.shape):
        low, high = splat(node.operands[0], graph), splat(node.operands[2], graph)
        return node.operands[1] if _keeps(low, high, highest) else key
    if node.opcode in ("maximum", "minimum") and is_integer(node.shape):
        for index in (0, 1):
            bound = splat(node.operands[index], graph)
            low, high = (bound, np.int64(highest)) if node.opcode == "maximum" else (np.int64(0), bound)
            if _keeps(low, high, highest):
                return _drop_clamps(node.operands[1 - index], highest, graph)
    return key


def _keeps(low: Any, high: Any, highest: int) -> bool:
    return low is not None and high is not None and int(low) <= 0 and int(high) >= highest


def _drop_clamp(node: Node, graph: Writer) -> int | None:
    if node.opcode == "gather":
        axes = dict(node.attribute("gather_dimension_numbers", ())).get("start_index_map", ())
        sizes = node.attribute("gather_slice_sizes")
        room = {graph[node.operands[0]].shape.dimensions[axis] - sizes[axis] for axis in axes}
        free = _drop_clamps(node.operands[1], room.pop(), graph) if len(room) == 1 else node.operands[1]
        return None if free == node.operands[1] else graph.add(
            "gather", node.shape, (node.operands[0], free), node.attributes
        )  # fmt: skip
    first = _FIRST_INDEX[node.opcode]
    room = _room(node, graph)
    starts = [_start(key, most, graph) for key, most in zip(node.operands[first:], room, strict=True)]
    if tuple(starts) == node.operands[first:]:
        return None
    return graph.add(node.opcode, node.shape, (*node.operands[:first], *starts), node.attributes)


def _room(node: Node, graph: Writer) -> list[int]:
    """How far a slice can start into each dimension."""
    whole = graph[node.operands[0]].shape.dimensions
    part = node.shape if node.opcode == "dynamic-slice" else graph[node.operands[1]].shape
    return [size - extent for size, extent in zip(whole, part.dimensions, strict=True)]


def _start(key: int, room: int, graph: Writer) -> int:
    """The start without clamps, as a constant within bounds where it is one, 0 where there is no other."""
    key = _drop_clamps(key, room, graph)
    value = splat(key, graph)
    if room == 0:
        return key if value == 0 else fill(0, graph[key].shape, graph)
    if value is None or 0 <= value <= room:
        return key
    return fill(0 if value < 0 else room, graph[key].shape, graph)


def _constant_start(node: Node, graph: Writer) -> int | None:
    starts = [splat(key, graph) for key in node.operands[1:]]
    room = _room(node, graph)
    if any(start is None or not 0 <= start <= most for start, most in zip(starts, room, strict=True)):
        return None
    first = [int(start) for start in starts]
    return slice_part(node.operands[0], first, node.shape.dimensions, graph)


def slice_part(key: int, starts: Sequence[int], sizes: Sequence[int], graph: Writer) -> int:
    """A part of a value that begins at these indices.

    Args:
      starts: the first index of each dimension.
    """
    dimensions = tuple(
        tuple((name, value) for name, value in (("start", start), ("limit", start + size), ("stride", 1)) if value)
        for start, size in zip(starts, sizes, strict=True)
    )
    shape = Shape(graph[key].shape.dtype, tuple(sizes))
    return graph.add("slice", shape, (key,), (("slice_dimensions", dimensions),))


def _one_index(node: Node, graph: Writer) -> int | None:
    """A gather of one slice."""
    numbers = dict(node.attribute("gather_dimension_numbers", ()))
    axes = numbers.get("start_index_map", ())
    if numbers.get("operand_batching_dims") or graph[node.operands[1]].shape.elements != len(axes):
        return None
    flat = reshape(node.operands[1], (len(axes),), graph)
    zero = fill(0, Shape(graph[flat].shape.dtype), graph)
    starts = [zero] * len(graph[node.operands[0]].shape.dimensions)
    for position, dimension in enumerate(axes):
        starts[dimension] = reshape(slice_part(flat, (position,), (1,), graph), (), graph)
    sizes = node.attribute("gather_slice_sizes")
    shape = Shape(node.shape.dtype, tuple(sizes))
    part = graph.add("dynamic-slice", shape, (node.operands[0], *starts), (("dynamic_slice_sizes", tuple(sizes)),))
    return reshape(part, node.shape.dimensions, graph)


def _whole_update(node: Node, graph: Writer) -> int | None:
    return node.operands[1] if graph[node.operands[1]].shape == node.shape else None


INDEXING = (
    Rule("indices as they were", "an index means the same in a wider type", tuple(_FIRST_INDEX), _narrow_indices),
    Rule("index vectors of one", "an index vector of one number is that number", tuple(_NUMBERS), _implicit_vectors),
    Rule("one index", "a gather of one slice is a dynamic slice", ("gather",), _one_index),
    Rule(
        "clamps dropped",
        "gathers and slices clamp their indices themselves",
        ("gather", "dynamic-slice", "dynamic-update-slice"),
        _drop_clamp,
    ),
    Rule("constant starts", "a dynamic slice that starts at constants is a slice", ("dynamic-slice",), _constant_start),
    Rule("whole updates", "an update of everything is the update", ("dynamic-update-slice",), _whole_update),
)
"""In the order in which they are tried."""
