"""Functions compiled by XLA in TensorFlow, given what its kernels on CPU refuse or treat otherwise."""

from typing import Any

import keras
import tensorflow as tf

compiled = tf.function(jit_compile=True)
MULTI_HOT = keras.layers.CategoryEncoding(6, output_mode="multi_hot")


@compiled
def sparse_label_beyond(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)


@compiled
def in_top_k_beyond(targets: tf.Tensor, predictions: tf.Tensor) -> tf.Tensor:
    return tf.math.in_top_k(targets, predictions, 2)


@compiled
def confusion_matrix_beyond(labels: tf.Tensor, predictions: tf.Tensor) -> tf.Tensor:
    return tf.math.confusion_matrix(labels, predictions, 4)


@compiled
def multi_hot_beyond(ids: tf.Tensor) -> Any:
    return tf.cast(MULTI_HOT(ids), tf.int32)


@compiled
def gather_nd_beyond(x: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather_nd(tf.stop_gradient(x), indices)


@compiled
def gather_rows_beyond(x: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    return tf.gather(tf.stop_gradient(x), indices, batch_dims=1)


@compiled
def tensor_array_write_beyond(x: tf.Tensor, value: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    x, value = tf.stop_gradient(x), tf.stop_gradient(value)
    return tf.TensorArray(x.dtype, 4, element_shape=[6]).unstack(x).write(index, value).stack()


@compiled
def reverse_sequence_beyond(x: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    return tf.reverse_sequence(tf.stop_gradient(x), lengths, seq_axis=1)


@compiled
def segment_sum_beyond(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_sum(x, segments, 5)


@compiled
def floordiv_by_zero(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.floordiv(x, y)


@compiled
def integer_mean_overflow(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(x, axis=-1)


@compiled
def float16_mean(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(x, axis=-1)


@compiled
def check_numerics_vanishes(x: tf.Tensor) -> tf.Tensor:
    return tf.debugging.check_numerics(tf.sqrt(tf.stop_gradient(x)), "a root")


@compiled
def assert_vanishes(x: tf.Tensor) -> tf.Tensor:
    tf.debugging.assert_positive(x)
    return 2 * x


@compiled
def left_shift_beyond(x: tf.Tensor, shifts: tf.Tensor) -> tf.Tensor:
    return tf.bitwise.left_shift(x, shifts)


@compiled
def right_shift_beyond(x: tf.Tensor, shifts: tf.Tensor) -> tf.Tensor:
    return tf.bitwise.right_shift(x, shifts)


@compiled
def truncatediv_by_zero(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.truncatediv(x, y)


@compiled
def integer_power_negative(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.pow(x, y)


@compiled
def sort_nan(x: tf.Tensor) -> tf.Tensor:
    return tf.sort(tf.where(x > 0, tf.stop_gradient(x), float("nan")))


@compiled
def cast_to_unsigned(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(x, tf.uint32)
