"""The numeric arguments of a Keras layer, in the type that it computes in: Keras rounds some to float32 first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import keras
import numpy as np

_TOLD: Mapping[Any, Sequence[str]] = {
    keras.layers.Rescaling: ("scale", "offset"),
    keras.layers.Normalization: ("input_mean", "input_variance"),
}
"""By class, the attributes that hold them; None if a layer has no such argument."""

_REGULARIZERS: Mapping[Any, tuple[str, Callable[[float], Any]]] = {
    # One is cast to the type of what it is of, the other multiplies what is.
    keras.regularizers.L1: ("l1", partial(np.asarray, dtype=np.float64)),
    keras.regularizers.OrthogonalRegularizer: ("factor", float),
}
"""By class, the attribute that Keras keeps as a tensor of float32, and what it is kept as instead."""


def restate(layer: Any) -> None:
    """Let a layer compute with its exact arguments, to the last digit of float64 if it computes in that.

    `tf.convert_to_tensor` makes float32 of Python's floats, and Keras casts that: in float64 1/255 is then off by 2e-8,
    and gradients of a deep model by a hundred times as much. In float32 nothing changes.
    """
    for name in next((names for kind, names in _TOLD.items() if isinstance(layer, kind)), ()):
        value = getattr(layer, name)
        if value is not None:
            setattr(layer, name, np.asarray(value, np.float64))
    if isinstance(layer, keras.layers.Normalization) and layer.input_mean is not None:
        layer.build(layer._build_input_shape)
    for weight in getattr(layer, "weights", ()):
        _restate_regularizer(getattr(weight, "regularizer", None))
    _restate_regularizer(getattr(layer, "activity_regularizer", None))


def _restate_regularizer(regularizer: Any) -> None:
    if type(regularizer) in _REGULARIZERS:
        name, kept_as = _REGULARIZERS[type(regularizer)]
        setattr(regularizer, name, kept_as(float(getattr(regularizer, name))))
