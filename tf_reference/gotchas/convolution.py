"""Convolutions and paddings in TensorFlow and Keras."""

from typing import Any

import keras
import tensorflow as tf


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


def conv_same_stride(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.conv2d(images, kernel, 2, "SAME")


def conv_default_padding(images: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    return BIASED.stateless_call([kernel, bias], [], images)[0]


def conv1d_causal(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return CAUSAL.stateless_call([kernel], [], x)[0]


def conv1d_causal_dilated(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return CAUSAL_DILATED.stateless_call([kernel], [], x)[0]


def depthwise_kernel(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.depthwise_conv2d(images, kernel, [1, 1, 1, 1], "SAME")


def depthwise_conv1d(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return DEPTHWISE_1D.stateless_call([kernel], [], x)[0]


def separable_conv_stride(images: tf.Tensor, depthwise: tf.Tensor, pointwise: tf.Tensor) -> tf.Tensor:
    return tf.nn.separable_conv2d(images, depthwise, pointwise, [1, 2, 2, 1], "SAME")


def conv2d_transpose_kernel(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return SAME_TRANSPOSE.stateless_call([kernel], [], images)[0]


def conv2d_transpose_padding(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return VALID_TRANSPOSE.stateless_call([kernel], [], images)[0]


def conv2d_transpose_output_padding(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return PADDED_TRANSPOSE.stateless_call([kernel], [], images)[0]


def conv2d_transpose_output_shape(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.conv2d_transpose(images, kernel, [2, 11, 11, 4], 2, "SAME")


def conv1d_transpose(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return TRANSPOSE_1D.stateless_call([kernel], [], x)[0]


def conv3d_transpose(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return TRANSPOSE_3D.stateless_call([kernel], [], x)[0]


def zero_padding_before_conv(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.conv2d(keras.layers.ZeroPadding2D(3)(images), kernel, 2, "VALID")


def conv_same_even_kernel(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.conv1d(x[None, :, None], kernel[:, None, None], 1, "SAME")[0, :, 0]


def cropping_nothing_behind(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.Cropping1D((2, 0))(x)


def conv_same(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.conv2d(images, kernel, 1, "SAME")


def conv_groups(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return GROUPED.stateless_call([kernel], [], images)[0]


def conv_dilation(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return DILATED.stateless_call([kernel], [], images)[0]


def conv_explicit_padding(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.conv2d(images, kernel, 2, [[0, 0], [2, 1], [0, 3], [0, 0]])


def conv_padded_behind(images: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.conv2d(keras.layers.ZeroPadding2D(((0, 1), (0, 1)))(images), kernel, 2, "VALID")


def conv3d(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return VOLUMES.stateless_call([kernel], [], x)[0]
