"""Loops, branches and maps in TensorFlow."""

import tensorflow as tf


def while_loop_maximum(x: tf.Tensor) -> tf.Tensor:
    (result,) = tf.while_loop(lambda x: tf.reduce_sum(x) < 1e4, lambda x: (2 * x,), (x,), maximum_iterations=5)
    return result


def case_first_true(x: tf.Tensor) -> tf.Tensor:
    total = tf.reduce_sum(x)
    return tf.case([(total > 1, lambda: x), (total > -1, lambda: 2 * x)], default=lambda: 3 * x)


def double_where(x: tf.Tensor) -> tf.Tensor:
    def root(value: tf.Tensor) -> tf.Tensor:
        return tf.cond(value > 0, lambda: tf.sqrt(value), lambda: tf.zeros_like(value))

    return tf.reshape(tf.map_fn(root, tf.reshape(x, [-1])), x.shape)


def fixed_loop(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(3):
        x = tf.sin(x)
    return x
