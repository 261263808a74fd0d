"""Gradients at kinks in TensorFlow and Keras."""

import keras
import tensorflow as tf


def maximum_tie(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.maximum(x, y)


def minimum_tie(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.minimum(x, y)


def clip_ends(x: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_value(x, -1.0, 1.0)


def abs_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.abs(x)


def l1_loss_at_fit(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return keras.losses.mean_absolute_error(x, y)


def xlogy_at_zero(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.xlogy(x, y)


def divide_no_nan(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.divide_no_nan(x, y)


def reduce_max_tie(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_max(x, axis=-1)


def sign(x: tf.Tensor) -> tf.Tensor:
    return tf.sign(x)


def floor(x: tf.Tensor) -> tf.Tensor:
    return tf.floor(x)


def sort(x: tf.Tensor) -> tf.Tensor:
    return tf.sort(x)
