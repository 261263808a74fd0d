"""The calls of layers in a training step that is traced: their arguments, their mode, and the logits behind them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference import _keras_variables, _plain_calls, _traced_calls
from workloads.protocol.architecture import Call, drawn_size
from workloads.protocol.framework import Unsupported


def describe(path: str, layer_call: Any, numbering: _plain_calls.Numbering) -> Call:
    """A call as data."""
    keywords = {str(name): numbering.plain(value) for name, value in layer_call.named.items() if value is not None}
    keywords.pop("training", None)
    arguments = tuple(numbering.plain(argument) for argument in layer_call.given)
    return Call(path, arguments, keywords, numbering.numbers(layer_call.results))


def check_position(layer_call: Any) -> None:
    """Raise where a call is given `training` by position: Keras itself takes that by name alone."""
    names = list(inspect.signature(layer_call.layer.call).parameters)
    if "training" in names[: len(layer_call.given)]:
        raise Unsupported(f"it gives {layer_call.layer.name} training by position, which Keras takes by name alone")


def is_in_training(layer_call: Any) -> bool:
    """Whether a call is in training: where nothing is said, as the layer itself has it."""
    training = layer_call.named.get("training")
    if training is None:
        parameter = inspect.signature(layer_call.layer.call).parameters.get("training")
        training = parameter is not None and parameter.default is True
    if not isinstance(training, bool):
        raise Unsupported(f"it calls {layer_call.layer.name} with a training that is no bool")
    return training


def keeps_logits(layer_call: Any) -> bool:
    """Whether Keras leaves logits on what a layer returns, for crossentropies."""
    layer = layer_call.layer
    parameter = inspect.signature(layer.call).parameters.get("training")
    if layer_call.named.keys() - {"training"} or (parameter is not None and parameter.default is True):
        return False
    states = [state for inner in layer._flatten_layers() for state in _keras_variables.recurrent_states(inner)]
    # A call leaves the model as it was.
    old_values = [(variable, variable.numpy()) for variable in (*layer.non_trainable_variables, *states)]
    try:
        with _keras_variables.seeds_kept(layer):
            result = layer(*tf.nest.map_structure(_zeros, layer_call.given))
    except _traced_calls.NOT_FOLLOWED as error:
        raise Unsupported(f"it calls {layer.name}, which takes no zeros: {type(error).__name__}") from error
    finally:
        for variable, value in old_values:
            variable.assign(value)
    return hasattr(result, "_keras_logits")


def _zeros(value: Any) -> Any:
    """An array in place of a tensor, with the sizes that are drawn where it has none."""
    if not tf.is_tensor(value):
        return value
    shape = [drawn_size(size, len(value.shape)) if place else 1 for place, size in enumerate(value.shape)]
    return np.zeros(shape, value.dtype.as_numpy_dtype)
