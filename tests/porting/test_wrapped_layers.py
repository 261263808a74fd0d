"""A layer that wraps one which stands elsewhere too: one module is called in both places, or there is a place."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import pytest
from filled_modules import distance, drawn, filled, written_of

L = keras.layers


def _inputs() -> tuple[Any, Any]:
    return keras.Input((6, 5), name="a"), keras.Input((6, 5), name="b")


def wrapped_first() -> keras.Model:
    (a, b), layer = _inputs(), L.Dense(3, name="layer")
    return keras.Model([a, b], L.Concatenate()([L.TimeDistributed(layer, name="each")(a), layer(b)]))


def called_first() -> keras.Model:
    (a, b), layer = _inputs(), L.Dense(3, name="layer")
    return keras.Model([a, b], [layer(b), L.TimeDistributed(layer, name="each")(L.ReLU()(a))])


def two_wrappers() -> keras.Model:
    (a, b), layer = _inputs(), L.Dense(3, name="layer")
    each, other = L.TimeDistributed(layer, name="each"), L.TimeDistributed(layer, name="other")
    return keras.Model([a, b], [each(a), other(b)])


def wrapped_in_a_model() -> keras.Model:
    (a, b), layer, inner = _inputs(), L.Dense(5, name="layer"), keras.Input((6, 5))
    model = keras.Model(inner, L.TimeDistributed(layer, name="each")(inner), name="model")
    return keras.Model([a, b], [model(a), layer(b), L.TimeDistributed(layer, name="other")(b)])


def without_weights() -> keras.Model:
    (a, b), layer = _inputs(), L.ReLU(name="layer")
    return keras.Model([a, b], [L.TimeDistributed(layer)(a), layer(b), L.TimeDistributed(layer)(b)])


def of_a_convolution() -> keras.Model:
    (a, b), layer = _inputs(), L.Conv1D(3, 2, name="layer")
    steps = L.Reshape((2, 3, 5))(a)
    return keras.Model([a, b], [L.TimeDistributed(layer, name="each")(steps), layer(b)])


@pytest.mark.parametrize(
    "make", [wrapped_first, called_first, two_wrappers, wrapped_in_a_model, without_weights, of_a_convolution]
)
def test_both_calls_take_one_module(make: Callable[[], keras.Model]) -> None:
    model = make()
    written = written_of(model)
    assert written.places == ()
    given = [drawn((2, 6, 5)), drawn((2, 6, 5))]
    results = jax.tree.leaves(filled(written, written.text, model)(*map(jnp.asarray, given)))
    for result, right in zip(results, keras.tree.flatten(model(given)), strict=True):
        assert distance(result, right) < 3e-6


def test_what_no_class_can_reach_is_a_place_and_what_is_no_wrapper_of_steps_too() -> None:
    a, layer, inner = keras.Input((6, 5)), L.Dense(5, name="layer"), keras.Input((6, 5))
    model = keras.Model(inner, L.TimeDistributed(layer, name="each")(inner), name="model")
    (place,) = written_of(keras.Model(a, model(layer(a)))).places
    assert place.layer == "model/each" and "stands in another model" in place.reason
    cell = L.LSTMCell(3)
    (place,) = written_of(keras.Model(a, [L.RNN(cell)(a), L.RNN(cell, go_backwards=True, name="back")(a)])).places
    assert place.layer == "back" and "stands elsewhere too" in place.reason
