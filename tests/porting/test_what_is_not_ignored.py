"""What a written port could leave out and still pass: each is written, or said to be left."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import jaxport
from compare.porting.model_source import model_source
from compare.porting.training_source import training_source
from tf_reference import _keras_compiled

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
        (lambda: dense(keras.optimizers.Adam(use_ema=True, ema_overwrite_frequency=1000)), "use_ema=True"),
        (lambda: dense(activity_regularizer="l2"), "the regularizer L2"),
        (lambda: dense(trainable=False), "head/kernel and others are not trained"),
    ],
)
def test_what_may_not_show_in_a_few_steps_is_said_to_be_left(make: Callable[[], Any], told: str) -> None:
    assert any(told in each for each in left(make())), left(make())


def test_a_loss_has_the_delta_that_its_config_leaves_out() -> None:
    assert "optax.huber_loss(predictions, targets, 0.3)" in text_of(dense(loss=keras.losses.Huber(0.3)))


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
