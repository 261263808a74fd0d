"""Losses of results that carry a mask: Keras leaves masked steps out, and so does the written loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np
import pytest
from written_losses import written_loss

from compare.porting.model_source import model_source
from compare.porting.training_source import training_source
from tf_reference import _keras_compiled

pytestmark = pytest.mark.usefixtures("remembered")
L = keras.layers
TOKENS = np.array([[3, 1, 0, 0], [2, 0, 5, 1], [4, 0, 0, 0]])


def of_tokens(outputs: Callable[[Any, Any], Any], loss: Any, **settings: Any) -> Any:
    keras.utils.clear_session()
    tokens = keras.Input((4,), dtype="int32")
    embedding = L.Embedding(7, 3, mask_zero=True)(tokens)
    model = keras.Model(tokens, outputs(embedding, L.LSTM(3, return_sequences=True)(embedding)))
    for number, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(number).uniform(-0.6, 0.6, weight.shape))
    model.compile("sgd", loss, **settings)
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "tags": lambda: of_tokens(lambda x, y: L.Dense(5, "softmax")(y), "sparse_categorical_crossentropy"),
    "numbers": lambda: of_tokens(lambda x, y: L.Dense(2)(y), "mse"),
    "no logits": lambda: of_tokens(lambda x, y: L.Dense(2, "sigmoid")(y), "mae"),
    "a penalty": lambda: of_tokens(lambda x, y: L.Dense(2)(L.Dense(3, activity_regularizer="l2")(y)), "mse"),
    "two results, one with a mask": lambda: of_tokens(
        lambda x, y: [L.Dense(2)(y), L.Dense(1)(L.GlobalAveragePooling1D()(x))], ["mse", "mse"], loss_weights=[0.3, 2.0]
    ),
    "two masks": lambda: of_tokens(lambda x, y: [L.Dense(2)(y), L.Dense(3)(x)], ["mse", "mae"]),
}


def losses(model: Any, change: Callable[[str], str] | None = None) -> tuple[float, float]:
    """The loss of a batch as Keras has it, and as it is written and changed."""
    (module, loss), draws = written_loss(model, change), np.random.default_rng(3)
    predictions = model(TOKENS, training=True)
    is_sparse = "sparse" in str(model.loss)
    targets = [
        draws.integers(0, 5, (3, 4)) if is_sparse else draws.normal(size=one.shape).astype("float32")
        for one in (predictions if isinstance(predictions, list) else [predictions])
    ]
    several = len(targets) > 1
    wanted = model.compute_loss(None, targets if several else targets[0], predictions)
    given = tuple(map(jnp.asarray, targets))
    return float(wanted), float(loss(module, (jnp.asarray(TOKENS),), given if several else given[0]))


@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_that_of_keras(name: str) -> None:
    wanted, found = losses(MODELS[name]())
    assert found == pytest.approx(wanted, rel=3e-6)


MISTAKES: dict[str, tuple[str, Callable[[str], str]]] = {
    "the mask is lost": ("tags", lambda text: text.replace(", mask=mask)", ")")),
    "over all steps": ("numbers", lambda text: text.replace("jaxport.losses.reduce(", "jnp.mean(mask[..., None] * ")
                       .replace(", mask=mask)", ")")),
    "of the other result": ("two masks", lambda text: text.replace("mask=mask_2", "mask=~mask_1")),
    "shifted by a step": ("numbers", lambda text: text.replace("mask=mask", "mask=jnp.roll(mask, 1, 1)")),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_mask_is_another_loss(mistake: str) -> None:
    name, change = MISTAKES[mistake]
    wanted, found = losses(MODELS[name](), change)
    assert found != pytest.approx(wanted, rel=1e-3)


class Stepping(keras.Model):
    """A step of its own: what its losses do with masks is not read."""

    def train_step(self, data: Any) -> Any:
        return super().train_step(data)


def test_a_step_of_the_users_own_leaves_the_loss() -> None:
    tokens = keras.Input((4,), dtype="int32")
    model = Stepping(tokens, L.Dense(2)(L.Embedding(7, 3, mask_zero=True)(tokens)))
    model.compile("sgd", "mse")
    architecture = _keras_compiled.of_model(model)
    unwritten = training_source(architecture, model_source(architecture)).unwritten
    assert ["carries a mask" in reason for reason in unwritten] == [True]
