"""A train_step of the user's own: what is followed of it, what is refused with its line, and what is called itself."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from compare.porting.model_source import model_source
from compare.porting.training_source import training_source
from tf_reference import _keras_compiled, _keras_port, _own_steps, _watched_tape
from workloads.protocol.architecture import Clip
from workloads.protocol.framework import Unsupported

L = keras.layers


class Followed(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            predictions = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=predictions, sample_weight=weights)
            loss += 0.5 * tf.reduce_mean(keras.losses.mean_absolute_error(y, predictions))
        gradients = tape.gradient(loss, self.trainable_variables)
        gradients = [tf.clip_by_value(each, -0.25, 0.25) for each in gradients]
        gradients, _ = tf.clip_by_global_norm(gradients, 0.5)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        for metric in self.metrics:
            metric.update_state(y, predictions)
        return {metric.name: metric.result() for metric in self.metrics}


class Inherited(keras.Model):
    def train_step(self, data: Any) -> Any:
        logs = super().train_step(data)
        return {**logs, "more": 1.0}


class OwnLoss(keras.Model):
    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None) -> Any:
        return 2.0 * super().compute_loss(x, y, y_pred, sample_weight)


class Branching(keras.Model):
    def train_step(self, data: Any) -> Any:
        if len(data) == 2:
            return {}
        return super().train_step(data)


class NotTraining(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=False))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables))
        return {}


class Scaled(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients = [each * 2 for each in tape.gradient(loss, self.trainable_variables)]
        self.optimizer.apply(gradients, self.trainable_variables)
        return {}


class HalfTrained(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        variables = self.trainable_variables[:1]
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return {}


def built(kind: Any, table: bool = False) -> Any:
    x = keras.Input((2,), dtype="int32" if table else "float32")
    y = L.Flatten()(L.Embedding(3, 2, name="table")(x)) if table else x
    model = kind(x, L.Dense(2, name="head")(y), name="small")
    model.compile(keras.optimizers.SGD(0.5), "mse")
    return model


def test_terms_and_clips_are_followed_in_order() -> None:
    found = _own_steps.read(built(Followed))
    assert [(each.weight, each.loss and each.loss.class_name) for each in found.terms] == [
        (1.0, None),
        (0.5, "mean_absolute_error"),
    ]
    assert found.clips == (Clip("clip_by_value", (-0.25, 0.25)), Clip("clip_by_global_norm", (0.5,)))
    assert found.line.startswith("test_own_steps.py:")


def test_what_is_inherited_is_what_keras_does() -> None:
    assert [each.loss for each in _own_steps.read(built(Inherited)).terms] == [None]
    assert [each.weight for each in _own_steps.read(built(OwnLoss)).terms] == [2.0]


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Branching, "if len"), (NotTraining, "training=False"), (Scaled, "each \\* 2"), (HalfTrained, "variables")],
)
def test_what_is_not_followed_is_refused_with_its_line(kind: Any, told: str) -> None:
    with pytest.raises(Unsupported, match=rf"test_own_steps\.py:\d+, which is not followed: .*{told}"):
        _own_steps.read(built(kind))


def test_the_step_is_written_as_it_stands() -> None:
    architecture = _keras_compiled.of_model(built(Followed))
    text = training_source(architecture, model_source(architecture)).text
    first, second = text.index("optax.clip(0.25)"), text.index("optax.clip_by_global_norm(0.5)")
    assert first < second < text.index("optimizer.update(model, gradients)")
    assert "0.5 * (jnp.mean(jaxport.elementwise.absolute(" in text


def test_rows_of_a_table_that_are_clipped_leave_the_step_to_be_written() -> None:
    architecture = _keras_compiled.of_model(built(Followed, table=True))
    training = training_source(architecture, model_source(architecture))
    assert "table gives rows as gradients" in training.unwritten[0] and "raise NotImplementedError" in training.text


def test_the_gradients_of_the_loss_of_a_step_are_those_that_the_optimizer_is_given_and_it_takes_none() -> None:
    model = built(Scaled)
    x, y = np.ones((3, 2), "float32"), np.zeros((3, 2), "float32")
    before = [each.numpy() for each in model.trainable_variables]
    with tf.GradientTape() as tape:
        loss = _watched_tape.loss_of_step(lambda: model.train_step((x, y)))
    with tf.GradientTape() as plain:
        value = model.compute_loss(y=y, y_pred=model(x, training=True))
    wanted = plain.gradient(value, model.trainable_variables)
    for found, gradient in zip(tape.gradient(loss, model.trainable_variables), wanted, strict=True):
        np.testing.assert_allclose(found, 2 * gradient, rtol=1e-6)
    assert all(np.array_equal(one, two.numpy()) for one, two in zip(before, model.trainable_variables, strict=True))
    assert float(_watched_tape.step_with_loss(lambda: model.train_step((x, y)))) == float(loss)
    assert not np.array_equal(before[0], model.trainable_variables[0].numpy())


def test_a_step_without_a_tape_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"asks a tf\.GradientTape"):
        _watched_tape.loss_of_step(lambda: None)


class Counting(keras.Model):
    """As many do: each metric is told by itself, one of them held in an attribute."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.losses_seen = keras.metrics.Mean(name="seen")

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables))
        self.losses_seen.update_state(loss)
        for metric in self.metrics:
            if metric.name not in ("loss", "seen"):
                metric.update_state(y, loss)
        return {metric.name: metric.result() for metric in self.metrics}


def test_what_metrics_are_told_is_no_part_of_the_step_that_is_judged() -> None:
    model = built(Counting)
    model.optimizer.build(model.trainable_variables)
    weights = {each.path: each for each in model.trainable_variables}
    judged = _keras_port.own_step(model, lambda *given: None, weights, "float32", inputs=1)
    x, y = np.ones((3, 2), "float32"), np.zeros((3, 2), "float32")
    assert judged.step is not None
    step = tf.function(judged.step).get_concrete_function(x, y)
    changed = {each.name for each in step.graph.variables}
    assert not any("seen" in name or "total" in name or "count" in name for name in changed)
    assert float(step(x, y)) > 0
