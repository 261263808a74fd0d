"""TensorFlow's half of what its documentation of XLA lists as known issues."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from workloads.protocol.attempting import Stage


def variable_on_another_device(x: tf.Tensor, variable: tf.Variable) -> tf.Tensor:
    return tf.tanh(x) * variable + 1.0


def around_variable_on_another_device(stage: Stage, x: np.ndarray) -> Any:
    _count_as_two(*tf.config.list_physical_devices("CPU"))
    with tf.device("CPU:1"):
        variable = tf.Variable(2.0)
    return stage()(x, variable)


def _count_as_two(processor: tf.config.PhysicalDevice) -> None:
    """Has to come before TensorFlow does anything else; a second time it is asked for what it is."""
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    if tf.config.get_logical_device_configuration(processor) != two:
        tf.config.set_logical_device_configuration(processor, two)


def tensor_array_across_the_border(x: tf.Tensor) -> tf.Tensor:
    return _write_products(x)


def around_tensor_array_across_the_border(stage: Stage, x: np.ndarray) -> Any:
    tensor = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        result = stage()(tensor)
    return tape.gradient(result, tensor)


def tensor_array_within_the_border(x: tf.Tensor) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = _write_products(x)
    return tape.gradient(result, x)


def _write_products(x: tf.Tensor) -> tf.Tensor:
    products = tf.TensorArray(x.dtype, size=x.shape[0], element_shape=[])
    product = tf.ones([], x.dtype)
    for place in tf.range(x.shape[0]):
        product = tf.sin(product * x[place])
        products = products.write(place, product)
    return tf.reduce_sum(products.stack())


def gradient_of_an_unbounded_loop(x: tf.Tensor) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        (y,) = tf.while_loop(lambda y: tf.reduce_sum(y) < 40.0, lambda y: (y * y * 0.5 + y,), (x,))
    return tape.gradient(y, x)


def gradient_of_a_bounded_loop(x: tf.Tensor) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        (y,) = tf.while_loop(
            lambda y: tf.reduce_sum(y) < 40.0, lambda y: (y * y * 0.5 + y,), (x,), maximum_iterations=16
        )
    return tape.gradient(y, x)


def dynamic_tensor_array(x: tf.Tensor) -> tf.Tensor:
    squares = tf.TensorArray(x.dtype, size=0, dynamic_size=True, element_shape=[])
    for place in tf.range(x.shape[0]):
        squares = squares.write(place, x[place] * x[place])
    return squares.stack()


def seed_of_tensorflow(x: tf.Tensor) -> tf.Tensor:
    return x + tf.random.normal(x.shape)


def around_seed_of_tensorflow(stage: Stage, x: np.ndarray) -> Any:
    draws = []
    for _ in range(2):
        tf.random.set_seed(7)
        draws.append(stage()(x))
    return tf.cast(draws[0] == draws[1], tf.int32)


def stateless_seed(x: tf.Tensor) -> tf.Tensor:
    return x + tf.random.stateless_normal(x.shape, (42, 7))


def around_stateless_seed(stage: Stage, x: np.ndarray) -> Any:
    return tf.cast(stage()(x) == stage()(x), tf.int32)


def stateless_numbers(x: tf.Tensor) -> tf.Tensor:
    return x + tf.random.stateless_normal(x.shape, (42, 7))


def axis_from_a_loop(x: tf.Tensor) -> tf.Tensor:
    total = tf.zeros([4], x.dtype)
    y = tf.tanh(x)
    for axis in tf.range(2):
        total += tf.ensure_shape(tf.reduce_max(y, axis), [4])
    return total


def assertion(x: tf.Tensor) -> tf.Tensor:
    tf.debugging.assert_positive(x)
    return tf.tanh(x) * 2.0 + x
