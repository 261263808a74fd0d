"""Functions on either side of what autoclustering compiles: each pair differs in one line."""

import tensorflow as tf


def print_in_the_middle(x: tf.Tensor) -> tf.Tensor:
    y = tf.tanh(x @ x / 256.0) * x + 1.0
    with tf.control_dependencies([tf.print("largest", tf.reduce_max(y))]):
        return tf.nn.softmax(tf.tanh(y) * 2.0 + y)


def within_print_in_the_middle(x: tf.Tensor) -> tf.Tensor:
    y = tf.tanh(x @ x / 256.0) * x + 1.0
    with tf.control_dependencies([tf.reduce_max(y)]):
        return tf.nn.softmax(tf.tanh(y) * 2.0 + y)


def unique_in_the_middle(x: tf.Tensor) -> tf.Tensor:
    y = tf.cast(tf.tanh(x) * 10.0 + 1.0, tf.int32)
    different, _ = tf.unique(tf.reshape(y, [-1]))
    return tf.nn.softmax(x * 2.0 + tf.cast(tf.reduce_max(different), x.dtype) * x)


def within_unique_in_the_middle(x: tf.Tensor) -> tf.Tensor:
    y = tf.cast(tf.tanh(x) * 10.0 + 1.0, tf.int32)
    different = tf.reshape(y, [-1])
    return tf.nn.softmax(x * 2.0 + tf.cast(tf.reduce_max(different), x.dtype) * x)


def loop_over_a_tensor(x: tf.Tensor) -> tf.Tensor:
    y = x
    for _ in tf.range(8):
        y = y * x + 0.5
    return y


def within_loop_over_a_tensor(x: tf.Tensor) -> tf.Tensor:
    y = x
    for _ in range(8):
        y = y * x + 0.5
    return y


def too_few_operations(x: tf.Tensor) -> tf.Tensor:
    y = tf.tanh(x) * x
    return y + 0.5


def within_too_few_operations(x: tf.Tensor) -> tf.Tensor:
    y = tf.tanh(x) * x
    return tf.nn.relu(y + 0.5)


def bias_after_a_product(x: tf.Tensor) -> tf.Tensor:
    y = tf.nn.relu(tf.tanh(x * 2.0) @ x + x[0])
    return tf.nn.softmax(y * 2.0 + x)


def within_bias_after_a_product(x: tf.Tensor) -> tf.Tensor:
    tf.config.optimizer.set_experimental_options({"remapping": False})
    y = tf.nn.relu(tf.tanh(x * 2.0) @ x + x[0])
    return tf.nn.softmax(y * 2.0 + x)
