"""Traces user losses and schedules into graphs of TensorFlow; nothing about them is guessed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import keras
import numpy as np

from tf_reference import _function_graph
from tf_reference._keras_described import describe
from workloads.protocol.architecture import TENSOR, Constant, Described, Graph, Tensor, Traced
from workloads.protocol.framework import Unsupported

TARGETS, PREDICTIONS, STEP = "targets", "predictions", "step"
_MOST = 64
"""The most elements that a constant in a loss or a schedule may have."""
_MEAN = ("sum_over_batch_size", "mean")


def loss(value: Any, output: Any) -> Described:
    """A loss as data; a user's loss has its graph too."""
    description = describe(value)
    function = _of_users(value)
    if function is None:
        return description
    shape = tuple(output.shape)
    # Targets have the shape of the predictions, or hold a class index instead of the scores.
    for targets in dict.fromkeys((shape, shape[:-1] if len(shape) > 1 else shape)):
        graph = _traced(
            function, [(TARGETS, targets, "float32"), (PREDICTIONS, shape, "float32")], description.class_name
        )
        if graph is not None:
            return replace(description, traced=graph)
    return description


def optimizer(value: Any) -> Described:
    """An optimizer as data; a user's schedule has its graph too."""
    description, schedule = describe(value), getattr(value, "_learning_rate", None)
    inner = description.inner.get("learning_rate")
    if inner is None or inner.own or not isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
        return description
    graph = _traced(schedule.__call__, [(STEP, (), "int64")], inner.class_name)
    return replace(description, inner={**description.inner, "learning_rate": replace(inner, traced=graph)})


def exclusion(optimizer: Any) -> str:
    """The method that excludes weights from decay, which no config records; "" if none are excluded."""
    marks = ("_exclude_from_weight_decay", "_exclude_from_weight_decay_pattern")
    return "exclude_from_weight_decay" if any(getattr(optimizer, mark, None) for mark in marks) else ""


def _of_users(value: Any) -> Callable[..., Any] | None:
    """The function of a user's loss whose mean Keras takes; None for any other loss."""
    if isinstance(value, keras.losses.Loss):
        own = not type(value).__module__.startswith("keras.")
        return value.call if own and value.reduction in _MEAN else None
    return value if callable(value) and not str(getattr(value, "__module__", "keras.")).startswith("keras.") else None


def _traced(function: Callable[..., Any], inputs: Sequence[tuple[str, Any, str]], name: str) -> Graph | None:
    """The graph of a function from arrays to one array; None if it cannot be written so."""
    try:
        graph, arrays = _function_graph.of_function(lambda *values: function(*values), inputs, name)
    except Unsupported:
        return None
    has_variables = any(capture.is_variable for capture in graph.captured)
    if has_variables or not isinstance(graph.returned, dict) or TENSOR not in graph.returned:
        return None
    if any(array.size > _MOST for array in arrays.values()):
        return None
    tensors = (*(Tensor(tuple(shape), dtype) for _, shape, dtype in inputs), Tensor((), "float32"))
    traced = Traced(graph, (), {key: _constant(np.asarray(array)) for key, array in arrays.items()})
    positions = {input_name: number for number, (input_name, _, _) in enumerate(inputs)}
    return Graph("", positions, None, (), {TENSOR: len(inputs)}, tensors, traced)


def _constant(array: np.ndarray) -> Constant:
    return Constant(array.dtype.name, tuple(array.shape), tuple(map(repr, array.reshape(-1).tolist())))
