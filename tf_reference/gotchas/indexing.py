"""Indexing in TensorFlow."""

import tensorflow as tf

SEGMENTS = 5


def gather_beyond(table: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather(table, indices)


def scatter_twice(indices: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
    return tf.scatter_nd(indices[:, None], updates, (6, 4))


def segment_max_empty(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_max(x, segments, SEGMENTS)


def segment_mean_empty(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_mean(x, segments, SEGMENTS)


def gather(table: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather(table, indices)


def one_hot_beyond(indices: tf.Tensor) -> tf.Tensor:
    return tf.one_hot(indices, 6)


def segment_sum(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_sum(x, segments, SEGMENTS)


def cumsum(x: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(x)
