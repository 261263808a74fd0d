"""A GraphDef in which every float is a float64: what it computes without the rounding that it was saved with."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference._graph_nodes import definition, dtype_name

_WIDER = {"float32": tf.float64, "float16": tf.float64, "bfloat16": tf.float64, "complex64": tf.complex128}

_MOST_WRITTEN = 64
"""Elements of an array that somebody wrote: a larger one was computed."""


def widen(graph: Any) -> Any:
    """A copy with wider floats in attributes, constants and the signatures of functions."""
    wide = type(graph)()
    wide.CopyFrom(graph)
    for function in wide.library.function:
        for argument in (*function.signature.input_arg, *function.signature.output_arg):
            argument.type = widen_type(argument.type)
    for node in (*wide.node, *(node for function in wide.library.function for node in function.node_def)):
        _say_defaults(node)
        for value in node.attr.values():
            _widen_value(value)
    return wide


def _say_defaults(node: Any) -> None:
    """Saving leaves out an attribute that has its default, and the default of a float type is float32."""
    op_definition = definition(node.op)
    for attribute in op_definition.attr if op_definition else ():
        kind = attribute.default_value.WhichOneof("value")
        is_said = attribute.name in node.attr and node.attr[attribute.name].type
        if attribute.type == "type" and kind == "type" and not is_said:
            node.attr[attribute.name].type = attribute.default_value.type


def widen_type(number: int) -> int:
    """The number of the dtype that a float has in float64; of another type, itself."""
    wider = _WIDER.get(dtype_name(number))
    return number if wider is None else wider.as_datatype_enum


def _widen_value(value: Any) -> None:
    match value.WhichOneof("value"):
        case "type":
            value.type = widen_type(value.type)
        case "list":
            for place, number in enumerate(value.list.type):
                value.list.type[place] = widen_type(number)
        case "tensor" if widen_type(value.tensor.dtype) != value.tensor.dtype:
            dtype = tf.dtypes.as_dtype(widen_type(value.tensor.dtype))
            value.tensor.CopyFrom(tf.make_tensor_proto(_widen_array(tf.make_ndarray(value.tensor)), dtype))


def _widen_array(array: np.ndarray) -> np.ndarray:
    """Numbers as the author of the graph wrote them: 0.001, where a float32 holds 0.0010000000474974513."""
    kind = tf.dtypes.as_dtype(array.dtype)
    if kind.is_complex or array.size > _MOST_WRITTEN:
        return array.astype(np.complex128 if kind.is_complex else np.float64)
    return np.array([float(str(number)) for number in array.ravel()], np.float64).reshape(array.shape)
