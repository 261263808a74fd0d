"""Gradients at kinks in TensorFlow and Keras."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf


def maximum_tie(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.maximum(x, y)


def minimum_tie(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.minimum(x, y)


def clip_ends(x: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_value(x, -1.0, 1.0)


def abs_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.abs(x)


def l1_loss_at_fit(x: tf.Tensor, y: tf.Tensor) -> Any:
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


def xlog1py_at_zero(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.xlog1py(x, y)


def multiply_no_nan(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.multiply_no_nan(x, y)


def power_of_negative(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.pow(x, y)


def cumprod_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.math.cumprod(x, axis=1)


def clip_by_norm_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_norm(x, 2.0)


def l1_norm_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.norm(x, ord=1, axis=-1)


def maximum_norm_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.norm(x, ord=np.inf, axis=-1)


def hinge_at_margin(x: tf.Tensor, sign: tf.Tensor) -> Any:
    return keras.losses.hinge(tf.stop_gradient(sign), x)


def zero_first_in_maximum(x: tf.Tensor) -> tf.Tensor:
    return tf.maximum(0.0, x)


def keras_logaddexp_tie(x: tf.Tensor, y: tf.Tensor) -> Any:
    return keras.ops.logaddexp(x, y)


def keras_hypot_at_zero(x: tf.Tensor, y: tf.Tensor) -> Any:
    return keras.ops.hypot(x, y)


def floormod_gradient(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.floormod(x, y)


def reduce_min_tie(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_min(x, axis=-1)


def norm_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.norm(x, axis=-1)


def sqrt_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(x)


def where_without_inner_where(x: tf.Tensor) -> tf.Tensor:
    return tf.where(x > 0, tf.math.log(x), 0.0)


def atan2_at_zero(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.atan2(x, y)


def reduce_prod_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_prod(x, axis=-1)


def round_half_gradient(x: tf.Tensor) -> tf.Tensor:
    return tf.round(x)


def deviation_of_equals(x: tf.Tensor) -> tf.Tensor:
    return tf.math.reduce_std(x, axis=-1)
