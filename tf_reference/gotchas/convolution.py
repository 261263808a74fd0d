"""Convolutions and paddings in TensorFlow and Keras."""

from typing import Any

import keras


def _layer(kind: type[keras.layers.Layer], shape: tuple[int | None, ...], *options: Any, **settings: Any) -> Any:
    """A layer, built for inputs of a shape."""
    layer = kind(*options, **settings)
    layer.build(shape)
    return layer


IMAGES, SEQUENCES = (None, 6, 6, 3), (None, 8, 3)
BIASED = _layer(keras.layers.Conv2D, IMAGES, 4, 3)
CAUSAL = _layer(keras.layers.Conv1D, SEQUENCES, 4, 3, padding="causal", use_bias=False)
CAUSAL_DILATED = _layer(keras.layers.Conv1D, SEQUENCES, 4, 3, padding="causal", dilation_rate=2, use_bias=False)
DEPTHWISE_1D = _layer(keras.layers.DepthwiseConv1D, SEQUENCES, 3, depth_multiplier=2, use_bias=False)
SAME_TRANSPOSE = _layer(keras.layers.Conv2DTranspose, IMAGES, 4, 3, strides=2, padding="same", use_bias=False)
VALID_TRANSPOSE = _layer(keras.layers.Conv2DTranspose, IMAGES, 4, 3, strides=2, use_bias=False)
PADDED_TRANSPOSE = _layer(
    keras.layers.Conv2DTranspose, IMAGES, 4, 3, strides=2, padding="same", output_padding=0, use_bias=False
)
TRANSPOSE_1D = _layer(keras.layers.Conv1DTranspose, SEQUENCES, 4, 3, strides=2, padding="same", use_bias=False)
TRANSPOSE_3D = _layer(
    keras.layers.Conv3DTranspose, (None, 3, 3, 3, 2), 2, (2, 3, 3), strides=2, padding="same", use_bias=False
)
GROUPED = _layer(keras.layers.Conv2D, (None, 6, 6, 6), 6, 3, padding="same", groups=3, use_bias=False)
DILATED = _layer(keras.layers.Conv2D, IMAGES, 4, 3, padding="same", dilation_rate=2, use_bias=False)
VOLUMES = _layer(keras.layers.Conv3D, (None, 4, 4, 4, 2), 2, 3, padding="same", use_bias=False)
