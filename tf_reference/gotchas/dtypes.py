"""Types in TensorFlow and Keras."""

import tensorflow as tf


@tf.function(jit_compile=True)
def floormod_by_zero(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.math.floormod(x, y)


@tf.function(jit_compile=True)
def cast_to_byte(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(x, tf.uint8)


@tf.function(jit_compile=True)
def cast_nan(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.sqrt(x), tf.int32)


def mixed_bfloat16(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    # what keras.layers.Dense computes with dtype="mixed_bfloat16"; stateless_call leaves the casts of weights out
    # without gradients, whose roundings to bfloat16 XLA leaves out on one side or the other
    x, kernel = tf.stop_gradient(x), tf.stop_gradient(kernel)
    return tf.matmul(tf.cast(x, tf.bfloat16), tf.cast(kernel, tf.bfloat16))
