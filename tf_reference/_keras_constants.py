"""The numbers that a Keras layer was told, in the type that it computes in: Keras rounds some to float32 first."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np


def restate(layer: Any) -> None:
    """Let a layer compute with what it was told, to float64's last digit where it computes in that.

    `tf.convert_to_tensor` makes float32 of Python's floats, and Keras casts that: in float64 1/255 is then off by 2e-8,
    and gradients of a deep model by a hundred times as much. In float32 nothing changes.

    Args:
      layer: of Keras, built.
    """
    if isinstance(layer, keras.layers.Rescaling):
        layer.scale, layer.offset = (np.asarray(each, np.float64) for each in (layer.scale, layer.offset))
    if isinstance(layer, keras.layers.Normalization) and layer.input_mean is not None:
        layer.input_mean = np.asarray(layer.input_mean, np.float64)
        layer.input_variance = np.asarray(layer.input_variance, np.float64)
        layer.build(layer._build_input_shape)
