"""Functions whose calls are traced and compiled again; workloads/limits/recompilation.py has the calls."""

from __future__ import annotations

import tensorflow as tf


def cumsum(x: tf.Tensor) -> tf.Tensor:
    """f32[n] -> f32[n]."""
    return tf.cumsum(x)


def add(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """f32[n], f32[n] -> f32[n]."""
    return a + b


def argmax(x: tf.Tensor, axis: int) -> tf.Tensor:
    """f32[rows, columns] -> i32 of the other axis."""
    return tf.argmax(x, axis, output_type=tf.int32)


def argmax_tensor(x: tf.Tensor, turn: tf.Tensor) -> tf.Tensor:
    """f32[rows, columns], i32[] -> i32 of the other axis."""
    return tf.argmax(x, turn % 2, output_type=tf.int32)


def partial_batch(x: tf.Tensor) -> tf.Tensor:
    """f32[batch, 16] -> f32[batch, 8]."""
    kernel = tf.reshape(tf.linspace(-1.0, 1.0, 16 * 8), (16, 8))
    return tf.nn.relu(x @ kernel)


def python_scalar(x: tf.Tensor, factor: float) -> tf.Tensor:
    """f32[n], a number -> f32[n]."""
    return x * factor


@tf.function(input_signature=[tf.TensorSpec([None, 16], tf.float32)], jit_compile=True)
def unknown_size(x: tf.Tensor) -> tf.Tensor:
    """f32[batch, 16] -> f32[batch, 8]."""
    kernel = tf.reshape(tf.linspace(-1.0, 1.0, 16 * 8), (16, 8))
    return tf.nn.relu(x @ kernel)
