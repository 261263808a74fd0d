"""Computes operations on constants alone, which no input of a function changes, by TensorFlow."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference._graph_nodes import definition
from tf_reference._sources import callees

MOST_ELEMENTS = 1 << 22
"""The most elements of one array: 16 MiB of float32."""
MOST_ELEMENTS_IN_ALL = 1 << 24
_MOST_MS = 20_000
_NO_ARRAYS = (tf.string, tf.resource, tf.variant)
_RANDOM = ("Random", "Multinomial", "TruncatedNormal", "Shuffle", "Distorted", "Dropout", "Stateful")
_OUTSIDE = ("File", "Dataset", "Vocab", "Proto", "Reader", "Table", "Compressed")
"""Parts of the names of operations that TensorFlow calls stateless and that may read files, or make much of little."""
_EXACT = (tf.float64, tf.complex128)


def known_results(
    graph: Any, operations: Sequence[Any], other: Any, twins: Mapping[int, Any]
) -> dict[int, list[np.ndarray]]:
    """The results of operations that depend on constants alone, by the identity of the operation.

    None of them is random or has state, none is larger than MOST_ELEMENTS, and nothing larger leads to one. Where the
    function was traced in another float type, the more exact of both values is given: it rounds to the other.

    Args:
      other: the graph in another float type, or None.
      twins: by the identity of an operation, the one that is in that graph.
    """
    selection, remaining_elements = dict[int, Any](), MOST_ELEMENTS_IN_ALL
    constant = set[int]()
    for operation in operations:
        if not _is_constant(graph, operation, constant):
            continue
        constant.add(id(operation))
        size = sum(prod(tensor.shape) for tensor in operation.outputs)
        arrays = operation.outputs and not any(tensor.dtype in _NO_ARRAYS for tensor in operation.outputs)
        if operation.type != "Const" and arrays and size <= remaining_elements and graph.is_fetchable(operation):
            selection[id(operation)] = operation
            remaining_elements -= size
    if not selection:
        return {}
    results = _compute(graph, selection)
    if other is None:
        return results
    exact = {
        key: twins[key]
        for key in selection
        if twins.get(key) is not None and _is_more_exact(twins[key], selection[key])
    }
    return results | (_compute(other, exact) if exact else {})


def _is_constant(graph: Any, operation: Any, constant: set[int]) -> bool:
    if any(tensor.shape.rank is None or None in tensor.shape for tensor in operation.outputs):
        return False
    if any(prod(tensor.shape) > MOST_ELEMENTS for tensor in operation.outputs):
        return False
    if operation.type == "Const":
        return True
    before = [*(tensor.op for tensor in operation.inputs), *operation.control_inputs]
    return bool(operation.inputs) and all(id(one) in constant for one in before) and _is_pure(graph, operation)


def _is_pure(graph: Any, operation: Any) -> bool:
    """Whether an operation, and what it calls, gives the same each time."""
    op_definition = definition(operation.type)
    if op_definition is not None and (
        op_definition.is_stateful or any(part in operation.type for part in (*_RANDOM, *_OUTSIDE))
    ):
        return False
    bodies = [body for _, body in callees(graph, operation)]
    return all(_is_pure(body, inner) for body in bodies for inner in body.get_operations())


def _is_more_exact(twin: Any, operation: Any) -> bool:
    pairs = zip(twin.outputs, operation.outputs, strict=True)
    return any(theirs.dtype in _EXACT and theirs.dtype != ours.dtype for theirs, ours in pairs)


def _compute(graph: Any, operations: Mapping[int, Any]) -> dict[int, list[np.ndarray]]:
    """A session's results of operations; one by one if one of them has no kernel, or fails."""
    options = tf.compat.v1.RunOptions(timeout_in_ms=_MOST_MS)
    # A graph is only read here: no device but the CPU computes it.
    settings = tf.compat.v1.ConfigProto(device_count={"GPU": 0})
    with tf.compat.v1.Session(graph=graph, config=settings) as session:
        tensors_by_key = {key: list(operation.outputs) for key, operation in operations.items()}
        with contextlib.suppress(tf.errors.OpError):
            return {key: _arrays(values) for key, values in session.run(tensors_by_key, options=options).items()}
        results = dict[int, list[np.ndarray]]()
        for key, tensors in tensors_by_key.items():
            with contextlib.suppress(tf.errors.OpError):
                results[key] = _arrays(session.run(tensors, options=options))
        return results


def _arrays(values: Sequence[Any]) -> list[np.ndarray]:
    return [np.asarray(value) for value in values]
