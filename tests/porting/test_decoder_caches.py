"""Decoders that take a cache and the place of a step, and return the new cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np
import pytest
from filled_modules import called, distance, filled, written_of

pytestmark = pytest.mark.usefixtures("remembered")
L = keras.layers
ops: Any = keras.ops
LENGTH = 5


class CachedAttention(L.Layer):
    """Attention of one step to those in the cache, which is [batch, keys and values, steps, features]."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = L.Dense(4), L.Dense(4), L.Dense(4)

    def call(self, x: Any, cache: Any, place: Any) -> Any:
        keys = ops.slice_update(cache[:, 0], (0, place, 0), self.key(x))
        values = ops.slice_update(cache[:, 1], (0, place, 0), self.value(x))
        scores = ops.einsum("btf,bsf->bts", self.query(x), keys)
        scores = ops.where(ops.less_equal(ops.arange(LENGTH), place), scores, -1e9)
        return ops.einsum("bts,bsf->btf", ops.softmax(scores), values), ops.stack([keys, values], axis=1)


class Decoder(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.attention, self.head = L.Embedding(9, 4), CachedAttention(), L.Dense(9)

    def call(self, inputs: Any) -> Any:
        x = self.table(inputs["token"])
        y, cache = self.attention(x, inputs["cache"], inputs["place"])
        return self.head(x + y), cache


def inputs_at(place: int) -> dict[str, Any]:
    draws = np.random.default_rng(place)
    return {
        "token": draws.integers(0, 9, (2, 1)).astype("int32"),
        "cache": draws.normal(size=(2, 2, LENGTH, 4)).astype("float32"),
        "place": np.asarray(place, "int32"),
    }


def worst(place: int, change: Callable[[str], str] = lambda text: text) -> float:
    """How far a written and changed step is from Keras': its scores or its cache."""
    keras.utils.clear_session()
    model, inputs = called(Decoder(), inputs_at(3)), inputs_at(place)
    written = written_of(model)
    assert written.places == ()
    text = change(written.text)
    assert text != written.text or change("place") == "place"
    module = filled(written, text, model)
    found = module(*(jnp.asarray(inputs[name]) for name in sorted(inputs)))
    return max(distance(one, other) for one, other in zip(found, model(inputs), strict=True))


@pytest.mark.parametrize("place", [0, 2, LENGTH - 1])
def test_a_step_of_a_decoder_is_written(place: int) -> None:
    assert worst(place) < 1e-5


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("jnp.stack((0, place, 0", "jnp.stack((0, place + 1, 0", 1),
        lambda text: text.replace(" <= place", " < place"),
        lambda text: text.replace("self.value(", "self.key("),
    ],
    ids=["another place", "not to itself", "keys for values"],
)
def test_a_wrong_cache_is_seen(change: Callable[[str], str]) -> None:
    assert worst(2, change) > 1e-2


def test_a_number_among_the_inputs_is_drawn_as_one() -> None:
    from compare.porting.drawn_inputs import tensor_spec
    from workloads.protocol.architecture import Tensor

    assert tensor_spec(Tensor((), "int32")) == "ArraySpec((), 'int32')"
    assert tensor_spec(Tensor((None,), "float32")) == "ArraySpec((batch,))"
