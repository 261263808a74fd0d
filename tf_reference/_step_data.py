"""The data of a training step: the inputs of a model, and targets like its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf

from tf_reference import _keras_variables, _traced_calls
from workloads.protocol.framework import Unsupported

DataSpec = tuple[Any, Sequence[tuple[Any, str]]]
"""A nest of symbols, and shape and dtype of each of the targets."""


def data_specs(model: Any) -> Iterator[DataSpec]:
    """The specs of a training step's data.

    Without targets last: a step that does less without them would be another one.
    """
    try:
        nest = _traced_calls.pack(model, _inputs(model))
        outputs = keras.tree.flatten(_output_nest(model))
    except Unsupported:
        # Of a model without a call: what it hands to one of those in it.
        for _, child in _keras_variables.children(model):
            symbols = getattr(child, "inputs", None)
            if isinstance(child, keras.Model) and symbols:
                yield (symbols[0] if len(symbols) == 1 else list(symbols)), ()
        return
    of_outputs = [(tuple(output.shape), "float32") for output in outputs]
    numbers = [(tuple(output.shape)[:-1], "int32") for output in outputs if len(output.shape) > 1]
    yield nest, of_outputs
    if len(numbers) == len(outputs):
        yield nest, numbers
    yield nest, ()


def _inputs(model: Any) -> list[Any]:
    if _traced_calls.is_followed(model):
        return tf.nest.flatten(_traced_calls.first(model))
    symbols = getattr(model, "inputs", None)
    if not symbols:
        raise Unsupported("expected a model that knows its inputs, found one that does not")
    return list(symbols)


def _output_nest(model: Any) -> Any:
    graph = getattr(model, "_functional", None) or model
    structure = getattr(graph, "_outputs_struct", None)
    return _traced_calls.output_nest(model) if structure is None else structure
