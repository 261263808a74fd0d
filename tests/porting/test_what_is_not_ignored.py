"""What a written port could leave out and still pass: each is written, or said to be left."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf

import jaxport
from compare.porting.model_source import model_source
from compare.porting.training_source import training_source
from tf_reference import _keras_compiled
from tf_reference._gradients import densify
from tf_reference._keras_port import keras_port

L = keras.layers


def dense(optimizer: Any = "sgd", loss: Any = "mse", **named: Any) -> Any:
    x = keras.Input((4,))
    model = keras.Model(x, L.Dense(3, name="head", **named)(x))
    model.compile(optimizer, loss)
    return model


def undecayed() -> Any:
    optimizer = keras.optimizers.AdamW(weight_decay=0.01)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return dense(optimizer)


def left(model: Any) -> tuple[str, ...]:
    architecture = _keras_compiled.of_model(model)
    return training_source(architecture, model_source(architecture)).unwritten


def text_of(model: Any) -> str:
    architecture = _keras_compiled.of_model(model)
    return training_source(architecture, model_source(architecture)).text


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: dense(kernel_constraint=keras.constraints.MaxNorm(3.0)), "the constraint MaxNorm of head/kernel"),
        (lambda: dense(bias_constraint="non_neg"), "the constraint NonNeg of head/bias"),
        (undecayed, "exclude_from_weight_decay"),
        (lambda: dense("sgd", "categorical_crossentropy", activity_regularizer="l2"), "a regularizer of what the loss"),
    ],
)
def test_what_may_not_show_in_a_few_steps_is_said_to_be_left(make: Callable[[], Any], told: str) -> None:
    assert any(told in each for each in left(make())), left(make())


def test_layers_that_are_not_trained_are_written() -> None:
    text = text_of(dense(trainable=False))
    assert "FROZEN = (('head',), )" in text and "nnx.DiffState(0, TRAINED)" in text
    assert "FROZEN" not in text_of(dense())


def test_a_loss_has_the_delta_that_its_config_leaves_out() -> None:
    assert "optax.huber_loss(predictions, targets, delta=0.3)" in text_of(dense(loss=keras.losses.Huber(0.3)))


@pytest.mark.parametrize(
    "schedule",
    [
        keras.optimizers.schedules.PolynomialDecay(0.1, 100, 0.01, 2.0, cycle=True),
        keras.optimizers.schedules.CosineDecay(0.1, 100, alpha=0.1, warmup_target=0.2, warmup_steps=50),
        keras.optimizers.schedules.CosineDecay(0.1, 100),
        keras.optimizers.schedules.CosineDecayRestarts(0.1, 60, 1.5, 0.9, 0.05),
        keras.optimizers.schedules.ExponentialDecay(0.1, 100, 0.5, staircase=True),
        keras.optimizers.schedules.PiecewiseConstantDecay([100, 200], [0.1, 0.01, 0.001]),
    ],
)
def test_a_schedule_is_the_same_long_after_the_steps_that_are_judged(schedule: Any) -> None:
    (line,) = [
        each for each in text_of(dense(keras.optimizers.SGD(schedule))).splitlines() if "jaxport.schedules" in each
    ]
    call = line[line.index("jaxport.schedules") : line.rindex(")")]
    rate = eval(call, {"jaxport": jaxport})
    for step in (0, 1, 49, 50, 99, 100, 101, 151, 200, 201, 350, 999):
        found, wanted = rate(jnp.asarray(step), jnp.float32), schedule(step)
        assert np.allclose(float(found), float(wanted), rtol=1e-5), step


def looked_up(optimizer: Any) -> Any:
    tokens = keras.Input((4,), dtype="int32")
    model = keras.Model(tokens, L.Dense(1)(L.Flatten()(L.Embedding(5, 3, name="table")(tokens))))
    model.compile(optimizer, "mse")
    return model


def apart_in_fit(make: Callable[[], Any]) -> float:
    """How far weights after a step of Keras are from those of a step whose gradients were added up."""
    x, y = np.array([[0, 0, 0, 1], [0, 1, 1, 2]]), np.array([[1.0], [-2.0]])
    ours, theirs = looked_up(make()), looked_up(make())
    for one, two in zip(ours.weights, theirs.weights, strict=True):
        one.assign(np.random.default_rng(one.shape[0]).standard_normal(one.shape))
        two.assign(one)
    theirs.train_on_batch(x, y)
    with tf.GradientTape() as tape:
        loss = ours.compute_loss(None, y, ours(x, training=True), None)
    ours.optimizer.apply(densify(tape.gradient(loss, ours.trainable_variables)), ours.trainable_variables)
    return max(
        float(np.abs(one - two).max()) for one, two in zip(ours.get_weights(), theirs.get_weights(), strict=True)
    )


@pytest.mark.parametrize(
    ("make", "differs"),
    [
        (lambda: keras.optimizers.SGD(0.5, momentum=0.9, nesterov=True), False),
        (lambda: keras.optimizers.SGD(0.5, clipnorm=0.01), True),
        (lambda: keras.optimizers.Adam(0.1), True),
        (lambda: keras.optimizers.RMSprop(0.1), True),
    ],
)
def test_where_keras_takes_the_rows_of_a_token_apart_is_said(make: Callable[[], Any], differs: bool) -> None:
    assert (apart_in_fit(make) > 1e-4) is differs
    architecture = _keras_compiled.of_model(looked_up(make()))
    remarks = training_source(architecture, model_source(architecture)).remarks
    assert any("table gives rows as gradients" in each for each in remarks) is differs


NORMALIZED = """
import keras
def build():
    x = keras.Input((3,))
    model = keras.Model(x, keras.layers.Dense(2, name="head")(keras.layers.Normalization(name="scale")(x)))
    model.compile("sgd", "mse")
    return model
"""


def test_the_judged_normalization_computes_with_the_weights_that_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(NORMALIZED)
    receipt = tmp_path / "weights.receipt.json"
    receipt.write_text(json.dumps({"left": {"scale/count": "nothing is computed with it"}}))
    judged = keras_port(f"{tmp_path / 'model.py'}:build", receipt, "float32", inputs=1, trained=True)
    assert set(judged.weights) == {"scale/mean", "scale/variance", "head/kernel", "head/bias"}
    x = np.array([[1.0, 2.0, 3.0]], "float32")
    judged.weights["head/kernel"].assign(np.eye(3, 2))
    forward = tf.function(judged.forward)
    before = forward(x)
    judged.weights["scale/mean"].assign([1.0, 1.0, 1.0])
    judged.weights["scale/variance"].assign([4.0, 4.0, 4.0])
    assert np.allclose(before, [[1.0, 2.0]]) and np.allclose(forward(x), [[0.0, 0.5]])
