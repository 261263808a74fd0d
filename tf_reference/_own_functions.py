"""Finds user functions that layers of Keras call: all of a Lambda, or a final activation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from tf_reference import _keras_masks, _keras_variables
from tf_reference._replaced_calls import replaced_attribute

_ACTIVATED_LAST = frozenset({
    "Dense", "EinsumDense", "Conv1D", "Conv2D", "Conv3D", "Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose",
    "DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D",
})  # fmt: skip
"""Layers whose call ends with their activation."""


def whole(layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The user's function, if a layer does nothing but call it; None for any other layer.

    Args:
      positional: None is returned if Keras would cast or mask any of these, or of the keywords.
    """
    if not _keras_variables.is_keras(layer):
        return None
    of_lambda = _keras_variables.is_lambda(layer)
    if not of_lambda and not (isinstance(layer, keras.layers.Activation) and is_own(layer.activation)):
        return None
    tensors = [value for value in tf.nest.flatten((positional, dict(keywords))) if hasattr(value, "dtype")]
    if any(_cast(layer, tensor) or _keras_masks.of(tensor) is not None for tensor in tensors):
        return None
    return layer.call if of_lambda else layer.activation


def _cast(layer: Any, tensor: Any) -> bool:
    dtype = keras.backend.standardize_dtype(tensor.dtype)
    return "float" in dtype and dtype != layer.compute_dtype


def at_the_end(layer: Any) -> Callable[..., Any] | None:
    """The user's function that a layer calls last; None if there is none."""
    activation = getattr(layer, "activation", None)
    fits = _keras_variables.is_keras(layer) and type(layer).__name__ in _ACTIVATED_LAST
    return activation if fits and is_own(activation) else None


def has(operation: Any) -> bool:
    """Whether the call of a layer contains a user's function."""
    return whole(operation, (), {}) is not None or at_the_end(operation) is not None


def is_own(activation: Any) -> bool:
    """Whether an activation is a function from outside Keras."""
    if activation is None or isinstance(activation, keras.Layer):
        return False
    return not str(getattr(activation, "__module__", None)).startswith("keras.")


@contextmanager
def without_activation(layer: Any) -> Iterator[None]:
    """Inside, the call of a layer ends before its activation."""
    with replaced_attribute(layer, "activation", keras.activations.linear):
        yield
