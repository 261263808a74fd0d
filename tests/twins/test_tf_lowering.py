"""A program of TensorFlow's has a parameter for each argument and each variable, whatever the function calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_reference._lowering import lower
from tf_reference._mode_calls import compilable
from workloads.protocol.framework import Unsupported, has_no_gradient

X = tf.constant([1.0, 2.0, 3.0])
WEIGHT, OTHER = tf.Variable([1.0, 2.0, 3.0]), tf.Variable([3.0, 2.0, 1.0])
FROZEN, COUNTER = tf.Variable([1.0, 1.0, 2.0], trainable=False), tf.Variable(0)
UNUSED, NEEDED = tf.Variable([9.0]), tf.Variable(True)
SHAPE, SCALE, MANY = tf.constant([3, 1]), tf.constant([0.5, 0.5, 0.5]), tf.constant(np.ones(5000, np.float32))


@tf.function
def within(x: tf.Tensor) -> tf.Tensor:
    """A function whose gradient takes shapes that it returned."""
    return x * WEIGHT + tf.reshape(x, tf.stack([tf.shape(x)[0]]))


@tf.function
def within_again(x: tf.Tensor) -> tf.Tensor:
    """A function that calls another."""
    return tf.matmul(tf.reshape(within(x), [1, -1]), tf.reshape(OTHER * x, [-1, tf.shape(x)[0] // 3]))[0]


@tf.function
def shaped(x: tf.Tensor) -> tf.Tensor:
    """A function that takes a shape from a tensor that it captured."""
    return tf.reshape(x, SHAPE)


def updating(x: tf.Tensor) -> tf.Tensor:
    """A function that counts its calls, and keeps what it was given."""
    COUNTER.assign_add(1)
    FROZEN.assign(x)
    return tf.reshape(x, SHAPE) * tf.cast(COUNTER, tf.float32)


def branching(x: tf.Tensor) -> tf.Tensor:
    """A function that decides by a variable, and writes to another."""
    _ = UNUSED * 2.0
    return tf.cond(NEEDED, lambda: x * WEIGHT, lambda: x - FROZEN)


FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "a function within": (within, 2),
    "two functions, one in the other": (lambda x: within_again(x) * within(x)[0], 3),
    "a variable twice": (lambda x: x * WEIGHT + tf.identity(WEIGHT.read_value()) * within(x), 2),
    "a variable that has no gradient": (lambda x: within(x) * tf.stop_gradient(FROZEN), 3),
    "variables that are not read": (branching, 5),
    "a captured shape": (lambda x: tf.reshape(x, SHAPE) * 2.0, 1),
    "a captured shape within": (lambda x: shaped(x) * WEIGHT, 2),
    "a captured shape and a captured tensor": (lambda x: tf.reshape(x, SHAPE) * tf.reduce_sum(MANY), 1),
    "captured tensors": (lambda x: x * SCALE * tf.reduce_sum(MANY) * WEIGHT, 4),
    "variables that are updated": (updating, 3),
}


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the sum of a function."""

    def differentiated(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = tf.reduce_sum(function(x))
        return tape.gradient(value, x, unconnected_gradients="zero")

    return differentiated


def staged(function: Callable[..., Any]) -> Any:
    """The function as a session stages a pass."""
    return tf.function(lambda x: {"leaf": function(x)}, jit_compile=True, autograph=False)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_argument_and_variable_is_a_parameter(name: str) -> None:
    function, parameters = FUNCTIONS[name]
    for differentiated in (function, gradient(function)):
        of = lower(staged(differentiated), [X])

        assert len(of.layout.parameters) == parameters == 1 + len(of.concrete.captured_inputs)


def test_updates_of_variables_are_results_beside_a_captured_shape() -> None:
    of = lower(staged(updating), [X])

    assert of.layout.aliases == {1: 1, 2: 2}


def test_an_argument_that_XLA_has_to_know_is_named_by_the_operation_that_asks() -> None:
    sized = staged(lambda x: tf.ones(tf.cast(x, tf.int32)))

    with pytest.raises(Unsupported, match="XLA has to know input 0 of TensorFlow's Fill when it compiles"):
        lower(sized, [X])


@pytest.mark.parametrize("stage", [lambda function: function, tf.function], ids=["op by op", "as a graph"])
def test_a_kernel_that_this_device_lacks_is_named_and_is_no_gradient_that_is_none(stage: Callable[..., Any]) -> None:
    def pooled(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.max_pool_with_argmax(x, 2, 2, "VALID", output_dtype=tf.int32)[0]

    with pytest.raises(Unsupported, match="has no kernel for MaxPoolGradWithArgmax") as raised, compilable():
        stage(gradient(pooled))(tf.ones([1, 4, 4, 1]))
    assert not has_no_gradient(str(raised.value))
