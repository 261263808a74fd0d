"""Lists of tensors (tf.TensorArray) as arrays: their elements stand along the first axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.written_values import Reserved, Value
from compare.porting.safe_expressions import UnwritableError
from workloads.protocol.function_graph import Node, Result


def results(writer: BodyWriter, index: int, node: Node, values: Sequence[Value]) -> list[Value]:
    """The results of an operation on lists.

    Raises:
      UnwritableError: it is not written.
    """
    match node.type:
        case "TensorListReserve":
            return [_make(node, values[0], _length(writer, values[1]))]
        case "EmptyTensorList":
            return [_make(node, values[0], "0")]
        case "TensorListFromTensor":
            return [_of_array(writer, node)]
        case "TensorListSetItem":
            return [_write(writer, node, values, _length(writer, values[1]), 2)]
        case "TensorListPushBack":
            return [_push(writer, node, values)]
        case "TensorListLength":
            return [_size(writer, node, values[0])]
    if values[0].row:
        return [Value(node.results[0], text=values[0].row)]
    array = f"({writer.array(values[0])})"
    match node.type:
        case "TensorListGetItem":
            return writer.assign_results(index, node, [f"{array}[{_length(writer, values[1])}]"])
        case "TensorListGather":
            return writer.assign_results(index, node, [f"jnp.take({array}, {writer.array(values[1])}, 0, mode='clip')"])
        case "TensorListStack":
            return (
                [Value(node.results[0], text=writer.array(values[0]))]
                if values[0].text
                else _stack(writer, index, node, values[0], array)
            )
    name = writer.variable(node, 0)
    whole = f"{name}.reshape(-1, *{name}.shape[2:])"
    return writer.assign_results(
        index, node, [whole, f"jnp.full({name}.shape[0], {name}.shape[1], {writer.dtype(node.results[1])})"]
    )


def _of_array(writer: BodyWriter, node: Node) -> Value:
    name, shape = writer.variable(node, 0), writer.values[node.inputs[0]].result.shape
    length = f"{name}.shape[0]" if not shape or shape[0] is None else str(shape[0])
    return Value(node.results[0], text=name, length=length)


def _stack(writer: BodyWriter, index: int, node: Node, value: Value, array: str) -> list[Value]:
    """The array of a list; of one element, that too."""
    (whole_array,) = writer.assign_results(index, node, [array])
    reservation = value.reserved
    if reservation is None or reservation.length != "1" or [place for place, _ in reservation.items] != ["0"]:
        return [whole_array]
    return [replace(whole_array, only=reservation.items[0][1])]


def _make(node: Node, shape: Value, length: str) -> Value:
    sizes = shape.host.reshape(-1).tolist() if shape.is_known and shape.host is not None and shape.host.ndim else [-1]
    is_known = all(size >= 0 for size in sizes)
    return Value(
        node.results[0], reserved=Reserved(length, element(node), tuple(map(int, sizes)) if is_known else None)
    )


def element(node: Node) -> Result:
    """The dtype of the elements of a list."""
    return Result(str(node.attributes["element_dtype"]), None, bool(node.attributes.get("element_dtype:follows")))


def _write(writer: BodyWriter, node: Node, values: Sequence[Value], place: str, index: int) -> Value:
    text = writer.variable(node, index)
    reservation = values[0].reserved
    if reservation is not None and values[0].text == "":
        items = tuple(entry for entry in reservation.items if entry[0] != place)
        return Value(node.results[0], reserved=replace(reservation, items=(*items, (place, text))))
    if node.attributes.get("resize_if_index_out_of_bounds"):
        raise UnwritableError("the list grows where it is written: give the TensorArray its size")
    (array,) = writer.assign(f"{values[0].text}.at[{place}].set({text})", node.results, ["items"])
    return array


def _push(writer: BodyWriter, node: Node, values: Sequence[Value]) -> Value:
    reservation = values[0].reserved
    if reservation is None:
        name = writer.variable(node, 0)
        (array,) = writer.assign(f"jnp.concatenate([{name}, {writer.array(values[1])}[None]])", node.results, ["items"])
        return array
    return _write(writer, node, values, str(len(reservation.items)), 1)


def _size(writer: BodyWriter, node: Node, list_value: Value) -> Value:
    if list_value.reserved is not None:
        places = [int(place) for place, _ in list_value.reserved.items if place.isdigit()]
        number = (
            max(int(list_value.reserved.length), *(place + 1 for place in places), 0)
            if list_value.reserved.length.isdigit()
            else None
        )
        text = list_value.reserved.length
        return Value(node.results[0], host=np.array(text, object) if number is None else np.array(number))
    return Value(node.results[0], host=np.array(f"{writer.variable(node, 0)}.shape[0]", object))


def _length(writer: BodyWriter, value: Value) -> str:
    if value.host is not None and value.host.size == 1:
        return str(value.host.reshape(())[()])
    return writer.array(value)
