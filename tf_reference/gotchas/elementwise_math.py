"""Sums, norms and special functions in TensorFlow."""

import tensorflow as tf


def variance_one_pass(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.nn.moments(x, axes=[1])


def clip_by_norm(x: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_norm(x, 2.0)
