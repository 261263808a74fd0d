"""What is left of a port costs nothing else: what can be written is, weights are carried, and the rest is judged."""

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
from filled_modules import filled, written_of

import jaxport
from compare.porting.optimizers_by_name import optimizer_expression
from compare.porting.port_builders import Original
from compare.porting.port_source import Sizes
from compare.porting.rest_source import PORT
from compare.porting.safe_expressions import UnwritableError
from compare.porting.writing_ports import TRAINING, texts
from tf_reference import _keras_compiled
from tf_reference._keras_described import describe

L, optimizers = keras.layers, keras.optimizers


class Noam(optimizers.schedules.LearningRateSchedule):
    """It calls Python, which nothing writes."""

    def __call__(self, step: Any) -> Any:
        return tf.numpy_function(lambda at: np.float32(0.1 / (1 + at)), [step], tf.float32)


def own_loss(y_true: Any, y_pred: Any) -> Any:
    return tf.numpy_function(lambda a, b: np.square(a - b).astype("float32"), [y_true, y_pred], tf.float32)


def compiled(optimizer: Any = "sgd", loss: Any = "mse", **named: Any) -> Any:
    keras.utils.clear_session()
    x = keras.Input((4,))
    model = keras.Model(x, L.Dense(3, name="head", **named)(x))
    model.compile(optimizer, loss)
    return model


@pytest.mark.parametrize(
    ("make", "left"),
    [
        (lambda: compiled(optimizers.Adam(Noam())), ["the optimizer: PyFunc"]),
        (lambda: compiled(loss=own_loss), ["the loss: "]),
        (
            lambda: compiled(optimizers.Adam(Noam()), own_loss),
            ["the optimizer: PyFunc", "the loss: PyFunc"],
        ),
        (lambda: compiled(kernel_constraint="max_norm"), ["the training step: it has the constraint MaxNorm"]),
        (
            lambda: compiled(loss="categorical_crossentropy", activity_regularizer="l2"),
            ["the loss: head has a regularizer of what the loss takes the logits of"],
        ),
        (lambda: compiled(loss=keras.losses.Tversky()), ["the loss: Tversky"]),
    ],
)
def test_the_forward_pass_is_judged_where_the_training_is_left(make: Callable[[], Any], left: list[str]) -> None:
    _, training, files = texts(_keras_compiled.of_model(make()), Original("my_tf.py:build"), Sizes())
    assert [told.startswith(wanted) for told, wanted in zip(training.unwritten, left, strict=True)] == [True] * len(
        left
    )
    assert "the forward pass" in files[PORT]
    written = files[TRAINING]
    assert all(f"def {name}(" in written for name in ("make_optimizer", "loss", "train_step"))
    assert written.count("raise NotImplementedError") == len(left)


def test_nothing_but_the_port_is_judged_where_nothing_is_left() -> None:
    assert PORT not in texts(_keras_compiled.of_model(compiled()), Original("my_tf.py:build"), Sizes())[2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: optimizers.Adam(0.05, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=5),
        lambda: optimizers.SGD(0.05, use_ema=True, ema_overwrite_frequency=3, clipnorm=0.5),
        lambda: optimizers.SGD(0.05, momentum=0.9, use_ema=True),
        lambda: optimizers.AdamW(0.05, weight_decay=0.1, use_ema=True, ema_overwrite_frequency=4),
        lambda: optimizers.Adam(0.05, gradient_accumulation_steps=4),
        lambda: optimizers.SGD(0.05, momentum=0.9, gradient_accumulation_steps=3),
        lambda: optimizers.Nadam(0.05, gradient_accumulation_steps=2),
        lambda: optimizers.RMSprop(0.05, gradient_accumulation_steps=5, global_clipnorm=0.5),
        lambda: optimizers.SGD(0.05, gradient_accumulation_steps=3, weight_decay=0.1),
    ],
)
def test_averages_and_accumulations_are_those_of_keras(make: Callable[[], Any]) -> None:
    draws = np.random.default_rng(0)
    weights = draws.normal(size=(3, 2)).astype("float32")
    theirs, ours, keras_optimizer = keras.Variable(weights), jnp.asarray(weights), make()
    text = optimizer_expression(describe(keras_optimizer))
    optimizer = eval(text, {"jaxport": jaxport, "optax": optax})
    state = optimizer.init(ours)
    for _ in range(13):
        gradient = draws.normal(size=(3, 2)).astype("float32")
        keras_optimizer.apply([gradient], [theirs])
        updates, state = jax.jit(optimizer.update)(jnp.asarray(gradient), state, ours)
        ours = optax.apply_updates(ours, updates)
        assert np.allclose(ours, theirs.numpy(), rtol=3e-5, atol=1e-6)


@pytest.mark.parametrize(
    "optimizer",
    [
        optimizers.Adam(optimizers.schedules.CosineDecay(0.1, 100), gradient_accumulation_steps=4),
        optimizers.Adam(0.1, gradient_accumulation_steps=4, use_ema=True),
        optimizers.SGD(0.1, loss_scale_factor=8.0),
    ],
)
def test_what_optax_does_otherwise_is_left(optimizer: Any) -> None:
    with pytest.raises(UnwritableError):
        optimizer_expression(describe(optimizer))


def test_an_average_that_only_the_end_of_fit_uses_is_said() -> None:
    _, training, _ = texts(
        _keras_compiled.of_model(compiled(optimizers.SGD(0.1, use_ema=True))), Original("my_tf.py:build"), Sizes()
    )
    assert any("fit() ends with the average" in remark for remark in training.remarks)


UNWRITTEN: dict[str, Callable[[], Any]] = {
    "LSTM": lambda: L.LSTM(3, use_bias=False, name="left"),
    "GRU": lambda: L.GRU(3, dropout=1.0, name="left"),
    "Bidirectional": lambda: L.Bidirectional(L.LSTM(3, use_bias=False), name="left"),
    "SpectralNormalization": lambda: L.SpectralNormalization(L.Dense(3), name="left"),
    "RNN": lambda: L.RNN(L.LSTMCell(3, recurrent_dropout=0.2), name="left"),
    "stacked": lambda: L.RNN([L.GRUCell(3), L.GRUCell(2, dropout=0.1)], name="left"),
    "Conv2D": lambda: L.Conv1D(3, 2, data_format="channels_first", name="left"),
    "TimeDistributed": lambda: L.TimeDistributed(L.BatchNormalization(), name="left"),
    "BatchNormalization": lambda: L.BatchNormalization(axis=1, name="left"),
    "MultiHeadAttention": lambda: L.LayerNormalization(axis=(1, 2), name="left"),
}


@pytest.mark.parametrize("name", UNWRITTEN)
def test_the_weights_of_a_layer_that_is_left_are_carried(name: str) -> None:
    keras.utils.clear_session()
    x = keras.Input((5, 4))
    model = keras.Model(x, L.Dense(2, name="after")(UNWRITTEN[name]()(L.Dense(4, name="before")(x))))
    for number, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(number).normal(size=weight.shape))
    written = written_of(model)
    assert [place.layer for place in written.places] == ["left"]
    module = filled(written, written.text, model)
    held = {np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(jaxport.weights.variables_of(module)) if leaf.size}
    assert {np.asarray(weight).tobytes() for weight in model.weights} <= held
