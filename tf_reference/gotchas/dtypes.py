"""Types in TensorFlow and Keras."""

import keras
import numpy as np
import tensorflow as tf


def truncatediv(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.truncatediv(x, y)


def truncatemod(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.truncatemod(x, y)


def floormod_sign(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.floormod(x, y)


@tf.function(jit_compile=True)
def floormod_by_zero(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.floormod(x, y)


def integer_mean(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(x, axis=-1)


def byte_sum(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(x, axis=-1)


def byte_mean(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(x, axis=-1)


def byte_product(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_prod(x, axis=-1)


def round_half_up(x: tf.Tensor) -> tf.Tensor:
    return tf.round(tf.cast(x, tf.float32) / 2)


@tf.function(jit_compile=True)
def cast_to_byte(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(x, tf.uint8)


@tf.function(jit_compile=True)
def cast_nan(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.sqrt(x), tf.int32)


def saturate_cast(x: tf.Tensor) -> tf.Tensor:
    return tf.saturate_cast(x, tf.uint8)


def right_shift(x: tf.Tensor) -> tf.Tensor:
    return tf.bitwise.right_shift(x, 1)


def population_count(x: tf.Tensor) -> tf.Tensor:
    return tf.raw_ops.PopulationCount(x=x)


def bfloat16_by_numpy_scalar(x: tf.Tensor) -> tf.Tensor:
    return x / np.sqrt(64)


def bfloat16_mask_fill(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return tf.where(mask, x, x.dtype.min)


def bfloat16_matmul(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.matmul(x, y)


def mixed_bfloat16(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    # what keras.layers.Dense computes with dtype="mixed_bfloat16"; stateless_call leaves the casts of weights out
    # without gradients, whose roundings to bfloat16 XLA leaves out on one side or the other
    x, kernel = tf.stop_gradient(x), tf.stop_gradient(kernel)
    return tf.matmul(tf.cast(x, tf.bfloat16), tf.cast(kernel, tf.bfloat16))


def floordiv(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return x // y


def cast_to_integer(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(x, tf.int32)


def integer_overflow(x: tf.Tensor) -> tf.Tensor:
    return x * 3


def byte_square(x: tf.Tensor) -> tf.Tensor:
    return tf.square(x)


def byte_times_float(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.Rescaling(1 / 255)(x)


def bfloat16_by_python_scalar(x: tf.Tensor) -> tf.Tensor:
    return x * 0.125
