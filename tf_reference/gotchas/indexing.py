"""Indexing in TensorFlow.

Where indices are out of bounds TensorFlow raises on CPU unless XLA compiles it, and in its gradient always.
"""

import tensorflow as tf


@tf.function(jit_compile=True)
def gather_beyond(table: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather(tf.stop_gradient(table), indices)


@tf.function(jit_compile=True)
def gather_negative(table: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather(tf.stop_gradient(table), indices)


@tf.function(jit_compile=True)
def scatter_negative(indices: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
    return tf.scatter_nd(indices[:, None], tf.stop_gradient(updates), (6, 4))


@tf.function(jit_compile=True)
def tensor_scatter_update_negative(x: tf.Tensor, index: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
    return tf.tensor_scatter_nd_update(tf.stop_gradient(x), index[:, None], tf.stop_gradient(updates))
