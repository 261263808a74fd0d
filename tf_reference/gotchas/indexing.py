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


def gather_default_axis(table: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather(table, indices)


def gather_batch_dims(x: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather(x, indices, batch_dims=1)


def gather_nd(x: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather_nd(x, indices)


def scatter_twice(indices: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
    return tf.scatter_nd(indices[:, None], updates, (6, 4))


@tf.function(jit_compile=True)
def scatter_negative(indices: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
    return tf.scatter_nd(indices[:, None], tf.stop_gradient(updates), (6, 4))


@tf.function(jit_compile=True)
def tensor_scatter_update_negative(x: tf.Tensor, index: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
    return tf.tensor_scatter_nd_update(tf.stop_gradient(x), index[:, None], tf.stop_gradient(updates))


def reverse_sequence(x: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    return tf.reverse_sequence(x, lengths, seq_axis=1)


def one_hot_off_value(indices: tf.Tensor) -> tf.Tensor:
    return tf.one_hot(indices, 6, on_value=0.75, off_value=-0.25)


def split_sizes(x: tf.Tensor) -> tf.Tensor:
    return tf.split(x, [1, 3, 4], axis=1)[1]


def where_v1_rows(condition: tf.Tensor, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.compat.v1.where(condition, x, y)


def boolean_mask_mean(x: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.boolean_mask(tf.stop_gradient(x), tf.range(8) < lengths))


def roll(x: tf.Tensor) -> tf.Tensor:
    return tf.roll(x, 1, axis=1)


def tile(x: tf.Tensor) -> tf.Tensor:
    return tf.tile(x, [2, 1])


def gather(table: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather(table, indices)


def one_hot_beyond(indices: tf.Tensor) -> tf.Tensor:
    return tf.one_hot(indices, 6)


def one_hot_axis(indices: tf.Tensor) -> tf.Tensor:
    return tf.one_hot(indices, 6, axis=1)


def sequence_mask(lengths: tf.Tensor) -> tf.Tensor:
    return tf.sequence_mask(lengths, 6)


def slice_beyond(x: tf.Tensor) -> tf.Tensor:
    return x[2:99, -5:]


def slice_backwards(x: tf.Tensor) -> tf.Tensor:
    return x[::-1, 6:1:-2]


def tensor_scatter_add(x: tf.Tensor, indices: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
    return tf.tensor_scatter_nd_add(x, indices[:, None], updates)


def meshgrid(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
    return tf.meshgrid(x, y)
