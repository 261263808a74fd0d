"""Sorting, ranking and counting in TensorFlow and Keras."""

import keras
import tensorflow as tf

DISCRETIZATION = keras.layers.Discretization([-1.0, 0.0, 1.0])


@tf.function(jit_compile=True)
def bincount_negative(x: tf.Tensor) -> tf.Tensor:
    return tf.math.bincount(x, minlength=6, maxlength=6)


def top_k(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    values, indices = tf.math.top_k(x, 3)
    return values, indices
