"""Layers of the user's that are called with several tensors, with names and with masks: followed, or a place."""

import re
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import called, distance, drawn, filled, written_of

L = keras.layers
ops: Any = keras.ops

pytestmark = [
    pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask:UserWarning"),
    pytest.mark.usefixtures("remembered"),
]

BOUND = 3e-6
TOKENS = np.array([[3, 1, 4, 0, 0, 0], [0, 2, 0, 5, 6, 0]], "int32")


class Cross(L.Layer):
    """A block that attends to a second tensor, and may be told to scale."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norm, self.dense = L.MultiHeadAttention(2, 2), L.LayerNormalization(), L.Dense(4)

    def call(self, x: Any, context: Any, scaled: bool = False, training: bool = False) -> Any:
        y = self.norm(x + self.attention(x, context))
        return self.dense(y) * (3.0 if scaled else 1.0) - ops.mean(context, axis=1, keepdims=True)


class OfTensorFlow(Cross):
    def call(self, x: Any, context: Any, scaled: bool = False, training: bool = False) -> Any:
        return tf.matmul(super().call(x, context, scaled), tf.eye(4))


class Encoder(L.Layer):
    """It takes a mask, and what is in it takes that of its tensor too."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norm, self.supports_masking = L.MultiHeadAttention(2, 2), L.LayerNormalization(), True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        pairs = None if mask is None else mask[:, None, :]
        return self.norm(inputs + self.attention(inputs, inputs, attention_mask=pairs))


class Pooled(L.Layer):
    def call(self, x: Any, mask: Any = None) -> Any:
        if mask is None:
            return ops.mean(x, axis=1)
        present = ops.cast(mask, "float32")[:, :, None]
        return ops.sum(x * present, axis=1) / ops.sum(present, axis=1)


def of_two(function: Any) -> tuple[Any, list[Any]]:
    x, y = keras.Input((6, 4)), keras.Input((5, 4))
    given = [drawn((2, 6, 4)), 1.0 - 0.5 * drawn((2, 5, 4))]
    return called(keras.Model([x, y], function(x, y)), given), given


def of_tokens(function: Any) -> tuple[Any, list[Any]]:
    tokens = keras.Input((6,), dtype="int32")
    table = L.Embedding(7, 4, mask_zero=True)
    return called(keras.Model(tokens, function(table(tokens))), TOKENS), [TOKENS]


def apart(model: Any, given: list[Any], text: str = "", instead: str = "") -> float:
    written = written_of(model)
    assert [each.description for each in written.places] == [] and text in written.text
    module = filled(written, written.text.replace(text, instead, 1) if text else written.text, model)
    found = module(*map(jnp.asarray, given))
    return distance(found, model(given if len(given) > 1 else given[0]))


CALLS = {
    "by position": lambda layer, x, y: layer(x, y),
    "by name": lambda layer, x, y: layer(x, context=y),
    "all by name": lambda layer, x, y: layer(context=y, x=x),
    "told beside": lambda layer, x, y: layer(x, y, scaled=True),
    "twice": lambda layer, x, y: layer(layer(x, y), context=y),
}


@pytest.mark.parametrize("layer", [Cross, OfTensorFlow])
@pytest.mark.parametrize("name", CALLS)
def test_a_layer_is_followed_however_it_is_called(layer: Any, name: str) -> None:
    model, given = of_two(lambda x, y: CALLS[name](layer(), x, y))
    assert apart(model, given) < BOUND


def test_arguments_that_are_exchanged_are_seen() -> None:
    x, y = keras.Input((6, 4)), keras.Input((6, 4))
    given = [drawn((2, 6, 4)), 1.0 - 0.5 * drawn((2, 6, 4))]
    model = called(keras.Model([x, y], Cross()(x, context=y)), given)
    found = re.search(r"(self\.cross\w*)\((\w+), (\w+)\)", written_of(model).text)
    assert found
    assert apart(model, given, found[0], f"{found[1]}({found[3]}, {found[2]})") > 1e-2


@pytest.mark.parametrize(
    "function",
    [
        lambda x: Encoder()(x),
        lambda x: Encoder()(Encoder()(x)),
        lambda x: Pooled()(Encoder()(x)),
        lambda x: L.GlobalAveragePooling1D()(Encoder()(x)),
        lambda x: Pooled()(x),
    ],
)
def test_masks_that_keras_hands_to_a_layer_are_arguments(function: Any) -> None:
    assert apart(*of_tokens(function)) < BOUND


class Again(keras.Model):
    """It pools what attention in a layer of its own has taken the mask from."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.encoder, self.pooled = L.Embedding(7, 4, mask_zero=True), Encoder(), Pooled()

    def call(self, tokens: Any) -> Any:
        x = self.table(tokens)
        y = self.encoder(x)
        return self.pooled(x) + self.pooled(y)


def test_a_mask_that_a_layer_takes_away_is_there_no_more() -> None:
    model = called(Again(), TOKENS)
    found = written_of(model)
    (place,) = found.places
    assert "other arguments than its first call" in place.reason


def test_a_mask_in_a_layer_that_is_left_out_is_seen() -> None:
    model, given = of_tokens(lambda x: Encoder()(x))
    assert apart(model, given, "query=", "query=~") > 1e-3


def both(x: Any, y: Any) -> Any:
    layer = Cross()
    return layer(x, y, scaled=True) + layer(x, y)


class Loose(L.Layer):
    def call(self, x: Any, **others: Any) -> Any:
        return x + others["context"][:, :1]


@pytest.mark.parametrize(
    ("function", "reason"),
    [(both, "other arguments than its first call"), (lambda x, y: Loose()(x, context=y), "inputs are not known")],
)
def test_what_is_called_otherwise_is_a_place(function: Any, reason: str) -> None:
    model, _ = of_two(function)
    assert any(reason in each.reason for each in written_of(model).places), written_of(model).places
