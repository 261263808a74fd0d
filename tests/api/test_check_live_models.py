"""`jaxport.check` of Keras models that change in a call, or compute in a narrow type: no verdict hangs on the order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from flax import nnx

import jaxport

pytestmark = pytest.mark.usefixtures("programs_here")

INPUTS = {"x": "f32[2,2,3]"}


@pytest.fixture(scope="module")
def recurrent() -> Any:
    keras.utils.set_random_seed(0)
    steps = keras.Input(batch_shape=(2, 2, 3))
    return keras.Model(steps, keras.layers.SimpleRNN(2, stateful=True, name="rnn")(steps))


def port_from(start: float, model: Any) -> Callable[[jax.Array], jax.Array]:
    """The same recurrence, from states that are all one number."""
    kernel, recurrent_kernel, bias = (np.asarray(weight) for weight in model.get_layer("rnn").cell.weights)

    def port(x: jax.Array) -> jax.Array:
        state = jnp.full((2, 2), start, x.dtype)
        for step in range(2):
            state = jnp.tanh(x[:, step] @ kernel + state @ recurrent_kernel + bias)
        return state

    return port


def test_every_call_starts_from_the_states_that_the_model_has(recurrent: Any) -> None:
    (state,) = recurrent.get_layer("rnn").states
    state.assign(np.ones((2, 2), np.float32))
    assert jaxport.check(recurrent, port_from(1.0, recurrent), INPUTS).passed
    assert (state.numpy() == 1).all()
    assert jaxport.check(recurrent, port_from(0.0, recurrent), INPUTS).verdict == "fail"


class Counter(keras.layers.Layer):
    """What it gives depends on how often it was called."""

    def build(self, shape: Any) -> None:
        self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        self.calls.assign_add(1.0)
        return x * self.calls


def test_a_count_that_a_call_reads_starts_anew_in_each() -> None:
    model = keras.Sequential([keras.Input((4,)), Counter()])
    assert jaxport.check(model, lambda x: x * 1.0, {"x": "f32[2,4]"}).passed
    assert jaxport.check(model, lambda x: x * 2.0, {"x": "f32[2,4]"}).verdict == "fail"
    assert float(model.layers[0].calls.numpy()) == 0.0


@pytest.fixture
def mixed() -> Iterator[Any]:
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        keras.utils.set_random_seed(0)
        yield keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="last")])
    finally:
        keras.config.set_dtype_policy("float32")


def test_mixed_precision_is_judged_by_the_type_that_the_original_computes_in(mixed: Any) -> None:
    class Port(nnx.Module):
        def __init__(self, scale: float) -> None:
            self.scale = scale
            self.last = nnx.Linear(4, 3, dtype=jnp.bfloat16, param_dtype=jnp.float32, rngs=nnx.Rngs(0))

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.last(x) * self.scale

    def verdict(scale: float) -> str:
        port = Port(scale)
        jaxport.carry_weights(mixed, port)
        return jaxport.check(mixed, port, {"x": "f32[2,4]"}).verdict

    assert (verdict(1.0), verdict(1.25)) == ("pass", "fail")
