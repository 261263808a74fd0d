"""Losses and schedules of the user's own are written as functions that compute what theirs do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import optax
import pytest
import tensorflow as tf
from flax import nnx

import jaxport
from compare.porting.port_builders import Original
from compare.porting.port_source import Sizes
from compare.porting.rest_source import PORT as REST
from compare.porting.writing_ports import PORT, texts
from tf_reference import _keras_compiled

L, schedules, ops = keras.layers, keras.optimizers.schedules, keras.ops


def scope_of(model: Any) -> dict[str, Any]:
    """The functions of a written training of which nothing is left."""
    _, training, files = texts(_keras_compiled.of_model(model), Original("my_tf.py:build"), Sizes())
    assert training.unwritten == () and REST not in files
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "nnx": nnx, "optax": optax, "jaxport": jaxport, "Any": Any}
    exec(f"from __future__ import annotations\nModel = Functional = Any\n{training.text}", scope)
    return scope


def model_of(optimizer: Any = "sgd", loss: Any = "mse", shape: tuple[int, ...] = (4,)) -> Any:
    keras.utils.clear_session()
    x = keras.Input(shape)
    model = keras.Model(x, L.Dense(5, name="head")(x))
    model.compile(optimizer, loss)
    return model


class Schedule(schedules.LearningRateSchedule):
    """One without get_config, as tutorials have it."""

    def __init__(self, rate: Callable[[Any], Any]) -> None:
        self.rate, self.width = rate, tf.cast(8, tf.float32)

    def __call__(self, step: Any) -> Any:
        return self.rate(self, tf.cast(step, tf.float32))


RATES: dict[str, Callable[[Any, Any], Any]] = {
    "noam": lambda self, t: tf.math.rsqrt(self.width) * tf.math.minimum(tf.math.rsqrt(t), t * 10**-1.5),
    "warm up": lambda self, t: tf.where(t < 20, 0.1 * t / 20, 0.1),
    "cosine": lambda self, t: 0.05 * (1 + tf.cos(np.pi * tf.minimum(t, 100.0) / 100)),
    "steps": lambda self, t: 0.1 * 0.5 ** tf.floor(t / 30),
    "triangle": lambda self, t: 0.1 * tf.maximum(0.0, 1 - tf.abs(t / 20 - 2 * tf.floor(1 + t / 40) + 1)),
    "of keras.ops": lambda self, t: ops.minimum(0.1, 0.01 * ops.sqrt(t)),
}


@pytest.mark.parametrize("name", RATES)
def test_a_schedule_gives_the_rates_of_the_original(name: str) -> None:
    schedule = Schedule(RATES[name])
    written = scope_of(model_of(keras.optimizers.Adam(schedule)))["schedule"]
    for step in (0, 1, 2, 9, 10, 19, 20, 29, 30, 31, 60, 99, 100, 101, 999):
        assert np.allclose(float(written(jnp.asarray(step), jnp.float32)), float(schedule(step)), rtol=1e-5, atol=1e-9)


class OfWholeSteps(Schedule):
    def __init__(self, rate: Callable[[Any, Any], Any]) -> None:
        super().__init__(lambda _, __: None)
        self.rate, self.most = rate, tf.constant(10_000, tf.int64)

    def __call__(self, step: Any) -> Any:
        return 0.1 / tf.cast(self.rate(self, step), tf.float32)


@pytest.mark.parametrize(
    ("rate", "is_written"),
    [
        (lambda self, step: 1 + step * step, False),
        (lambda self, step: 1 + step * 10_000, False),
        (lambda self, step: 1 + step * self.most, False),
        (lambda self, step: 1 + step * 1000, True),
        (lambda self, step: 1 + step // self.most, True),
        (lambda self, step: tf.minimum(step, self.most) + 1, True),
    ],
    ids=["square", "factor", "captured factor", "smaller factor", "quotient", "minimum"],
)
def test_whole_numbers_of_a_schedule_that_32_bits_do_not_hold_are_a_place(rate: Any, is_written: bool) -> None:
    """TensorFlow counts in int64: in 32 bits a square wraps from step 46,341 on, where no gate trains."""
    model = model_of(keras.optimizers.SGD(OfWholeSteps(rate)))
    _, training, _ = texts(_keras_compiled.of_model(model), Original("my_tf.py:build"), Sizes())
    assert ["does not have in 32 bits" in reason for reason in training.unwritten] == [True] * (not is_written)


def masked(label: Any, pred: Any) -> Any:
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")(label, pred)
    mask = tf.cast(label != 0, loss.dtype)
    return tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)


class Weighted(keras.losses.Loss):
    def call(self, y_true: Any, y_pred: Any) -> Any:
        return ops.mean((1 + y_true) * ops.square(y_true - y_pred), axis=-1)


def quantile(y_true: Any, y_pred: Any) -> Any:
    return tf.reduce_mean(tf.maximum(0.9 * (y_true - y_pred), -0.1 * (y_true - y_pred)), -1)


def focal(y_true: Any, y_pred: Any) -> Any:
    p = ops.sigmoid(y_pred)
    return -ops.mean(y_true * (1 - p) ** 2 * ops.log(p + 1e-6) + (1 - y_true) * p**2 * ops.log(1 - p + 1e-6))


def root(y_true: Any, y_pred: Any) -> Any:
    return tf.sqrt(tf.reduce_mean(tf.square(y_true - y_pred)))


def dice(y_true: Any, y_pred: Any) -> Any:
    p = tf.nn.softmax(y_pred)
    return 1 - 2 * tf.reduce_sum(y_true * p) / (tf.reduce_sum(y_true) + tf.reduce_sum(p))


@pytest.mark.parametrize(
    ("loss", "shape"),
    [(masked, (6, 4)), (Weighted(), (4,)), (quantile, (4,)), (focal, (3, 4)), (root, (4,)), (dice, (4,))],
)
def test_a_loss_gives_what_the_original_does(loss: Any, shape: tuple[int, ...]) -> None:
    model = model_of(loss=loss, shape=shape)
    _, _, files = texts(_keras_compiled.of_model(model), Original("my_tf.py:build"), Sizes())
    draws = np.random.default_rng(0)
    predictions = draws.normal(size=(8, *shape[:-1], 5)).astype("float32")
    of_classes = loss is masked
    targets = draws.integers(0, 5, predictions.shape[:-1]) if of_classes else draws.uniform(size=predictions.shape)
    assert ("'int32'" in files[PORT] or '"int32"' in files[PORT]) is of_classes
    wanted = model.compute_loss(None, targets.astype("float32"), predictions)
    found = scope_of(model)["loss"](lambda x: x, (jnp.asarray(predictions),), jnp.asarray(targets, "float32"))
    assert np.allclose(float(found), float(wanted), rtol=1e-5)


def test_a_loss_whose_reduction_is_a_sum_is_left() -> None:
    architecture = _keras_compiled.of_model(model_of(loss=Weighted(reduction="sum")))
    assert len(texts(architecture, Original("my_tf.py:build"), Sizes())[1].unwritten) == 1
