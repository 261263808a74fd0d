"""A call of the user's own that decides by `training` in Python is written where both ways are one, or is a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest
from filled_modules import called, drawn, written_of

from compare.errors import RequestError
from workloads.protocol.framework import Unsupported

pytestmark = pytest.mark.usefixtures("remembered")
L, ops = keras.layers, keras.ops


def layer(body: Callable[[Any, Any, Any], Any], *parts: Any) -> Any:
    """A layer of the user's own around others, with that call: of its parts, its input, and `training`."""

    class Deciding(L.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.parts = list(parts)

        def build(self, shape: Any) -> None:
            for part in self.parts:
                part.build(shape)

        def call(self, x: Any, training: bool = False) -> Any:
            return body(self.parts, x, training)

    return Deciding()


APART: dict[str, Callable[[], Any]] = {
    "a factor": lambda: layer(lambda parts, x, training: ops.relu(x) * 0.5 if training else ops.relu(x)),
    "a number": lambda: layer(lambda parts, x, training: x * (0.5 if training else 0.25)),
    "an axis": lambda: layer(lambda parts, x, training: x - ops.max(x, axis=0 if training else 1, keepdims=True)),
    "an order": lambda: layer(lambda parts, x, training: ops.subtract(x, x * x) if training else (x * x) - x),
    "another layer": lambda: layer(lambda parts, x, training: parts[not training](x), L.Dense(4), L.Dense(4)),
    "a layer in training alone": lambda: layer(
        lambda parts, x, training: parts[0](x) if training else x, L.LayerNormalization()
    ),
    "another layer that the call makes": lambda: layer(
        lambda parts, x, training: (L.add if training else L.multiply)([x, ops.relu(x)])
    ),
    "another activation that the call makes": lambda: layer(
        lambda parts, x, training: L.Activation("relu" if training else "tanh")(x)
    ),
    "another setting of what the call makes": lambda: layer(
        lambda parts, x, training: L.LeakyReLU(0.1 if training else 0.2)(x)
    ),
}

TOGETHER: dict[str, Callable[[], Any]] = {
    "nothing": lambda: layer(lambda parts, x, training: ops.relu(x) * 0.5),
    "a layer that the call makes": lambda: layer(
        lambda parts, x, training: L.add([x, L.LeakyReLU(0.1)(x)], name="both")
    ),
    "handed on": lambda: layer(lambda parts, x, training: parts[0](x, training=training), L.BatchNormalization()),
    "a dropout in training alone": lambda: layer(
        lambda parts, x, training: ops.relu(parts[0](x, training=True) if training else x) + 1.0, L.Dropout(0.5)
    ),
    "noise in training alone": lambda: layer(
        lambda parts, x, training: parts[0](x, training=True) if training else x, L.GaussianNoise(0.5)
    ),
    "always dropped": lambda: layer(lambda parts, x, training: parts[0](x, training=True), L.Dropout(0.5)),
}


def around(inner: Any) -> Any:
    x = keras.Input((4,))
    return called(keras.Model(x, L.Dense(2)(inner(x))), drawn((3, 4)))


@pytest.mark.parametrize("name", APART)
def test_what_training_decides_is_a_place(name: str) -> None:
    (place,) = written_of(around(APART[name]())).places
    assert "computes something else in training" in place.reason


@pytest.mark.parametrize("name", TOGETHER)
def test_what_is_the_same_but_for_its_layers_is_written(name: str) -> None:
    assert written_of(around(TOGETHER[name]())).places == ()


def test_a_whole_model_that_training_decides_is_refused_by_name() -> None:
    class Heads(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = L.Dense(3), L.Dense(3)

        def build(self, shape: Any) -> None:
            self.first.build(shape)
            self.second.build(shape)

        def call(self, x: Any, training: bool = False) -> Any:
            return self.first(x) if training else self.second(x)

    model = Heads()
    model(drawn((2, 4)), training=True)
    with pytest.raises((Unsupported, RequestError), match="Heads computes something else in training"):
        written_of(called(model, drawn((2, 4))))
