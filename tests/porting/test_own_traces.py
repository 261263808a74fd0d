"""Gradients of a tf.function with a loop, in every mode, whichever mode called it first."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_reference import _private
from tf_reference._own_traces import with_own_traces

pytestmark = pytest.mark.heavy


@tf.function
def ranged(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(3):
        x = tf.tanh(x * 1.5)
    return x


def gradient_of(function: Callable[..., Any]) -> Callable[..., Any]:
    def differentiate(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(function(x))
        return tape.gradient(loss, x)

    return differentiate


def test_each_mode_has_a_trace_of_its_own() -> None:
    x = tf.constant([0.5, -1.0])
    differentiate = gradient_of(with_own_traces(ranged))
    expected = differentiate(x)
    for compiles in (None, True):
        found = tf.function(differentiate, jit_compile=compiles, autograph=False)(x)
        np.testing.assert_allclose(expected, found, rtol=1e-5)
    # Without, XLA is given the trace of the call before.
    with pytest.raises(tf.errors.InvalidArgumentError, match="fixed tensor list size"):
        tf.function(gradient_of(ranged), jit_compile=True, autograph=False)(x)


def test_what_it_was_told_stays() -> None:
    function = with_own_traces(tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([2])], jit_compile=True))
    graph = tf.function(function, autograph=False).get_concrete_function(tf.TensorSpec([2])).graph
    (call,) = (operation for operation in graph.get_operations() if "PartitionedCall" in operation.type)
    assert call.get_attr("_XlaMustCompile")


def test_arguments_by_name_and_every_setting_stay() -> None:
    @tf.function(
        experimental_attributes={"time_major": True},
        experimental_autograph_options=tf.autograph.experimental.Feature.EQUALITY_OPERATORS,
    )
    def scaled(x: tf.Tensor, *, factor: float = 1.0) -> tf.Tensor:
        return x * factor if tf.reduce_sum(x) == 3.0 else x * 0.0

    function = with_own_traces(scaled)
    x = tf.constant([1.0, 2.0])

    @tf.function(autograph=False)
    def within(x: tf.Tensor) -> tf.Tensor:
        return function(x, factor=2.0)

    np.testing.assert_array_equal(function(x, factor=2.0), [2.0, 4.0])
    np.testing.assert_array_equal(within(x), [2.0, 4.0])
    library = within.get_concrete_function(x).graph.as_graph_def().library
    assert [one.attr["time_major"].b for one in library.function if "scaled" in one.signature.name] == [True]
    options = _private.staged_with(scaled)["experimental_autograph_options"]
    assert options == tf.autograph.experimental.Feature.EQUALITY_OPERATORS


def test_another_function_is_itself() -> None:
    assert with_own_traces(gradient_of) is gradient_of
