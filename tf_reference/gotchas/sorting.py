"""Sorting, ranking and counting in TensorFlow and Keras."""

import keras
import tensorflow as tf

DISCRETIZATION = keras.layers.Discretization([-1.0, 0.0, 1.0])


def argsort_descending(x: tf.Tensor) -> tf.Tensor:
    return tf.argsort(x, direction="DESCENDING")


def argsort_descending_unsigned(x: tf.Tensor) -> tf.Tensor:
    return tf.argsort(x, direction="DESCENDING")


def argmax_default_axis(x: tf.Tensor) -> tf.Tensor:
    return tf.argmax(x, output_type=tf.int32)


def unique_order(x: tf.Tensor) -> tf.Tensor:
    return tf.unique(x).idx


def top_k_order(x: tf.Tensor) -> tf.Tensor:
    return tf.math.top_k(x, 3).values


def in_top_k_tie(targets: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return tf.math.in_top_k(targets, x, 3)


def discretization_edges(x: tf.Tensor) -> tf.Tensor:
    return DISCRETIZATION(x)


def histogram_bins_beyond(x: tf.Tensor) -> tf.Tensor:
    return tf.histogram_fixed_width_bins(x, [-1.0, 1.0], 4)


@tf.function(jit_compile=True)
def bincount_negative(x: tf.Tensor) -> tf.Tensor:
    return tf.math.bincount(x, minlength=6, maxlength=6)


def searchsorted_nan(x: tf.Tensor) -> tf.Tensor:
    return tf.searchsorted(tf.constant([0.25, 0.75, 1.25], x.dtype), tf.sqrt(x))


def searchsorted_rows(x: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    return tf.searchsorted(tf.sort(x), values)


def argsort(x: tf.Tensor) -> tf.Tensor:
    return tf.argsort(x)


def argmax_tie(x: tf.Tensor) -> tf.Tensor:
    return tf.argmax(x, axis=-1, output_type=tf.int32)


def top_k(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    values, indices = tf.math.top_k(x, 3)
    return values, indices


def sort_descending_tie(x: tf.Tensor) -> tf.Tensor:
    return tf.sort(x, direction="DESCENDING")


def searchsorted(x: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    return tf.searchsorted(tf.sort(x), values)


def bincount_beyond(x: tf.Tensor) -> tf.Tensor:
    return tf.math.bincount(x, minlength=6, maxlength=6)


def invert_permutation(x: tf.Tensor) -> tf.Tensor:
    return tf.math.invert_permutation(tf.argsort(x))
