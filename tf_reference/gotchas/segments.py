"""Segments in TensorFlow and Keras."""

import tensorflow as tf

COUNT = 5


def segment_max_empty(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_max(x, segments, COUNT)


def segment_min_empty(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_min(x, segments, COUNT)


def segment_mean_empty(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_mean(x, segments, COUNT)


def segment_sqrt_n_empty(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_sqrt_n(x, segments, COUNT)


def segment_sum_of_matrix(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_sum(x, segments, COUNT)


def segment_max_unfilled(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_max(x, segments, COUNT)
