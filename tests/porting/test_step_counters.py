"""A train_step that reads the counter of an optimizer: before and after updates, in a loss, a choice, a schedule."""

from __future__ import annotations

from typing import Any

import keras
import models_with_steps as steps
import pytest
import tensorflow
from test_traced_steps import apply_gradients, difference, written_of

pytestmark = pytest.mark.usefixtures("remembered")

tf: Any = tensorflow


class Annealed(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        beta = tf.minimum(1.0, tf.cast(self.optimizer.iterations + 1, tf.float32) / 4.0)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred) + beta * tf.reduce_mean(tf.abs(y_pred))
        return apply_gradients(self, tape, loss)


class Alternating(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        factor = tf.where(self.optimizer.iterations % 2 == 0, 1.0, 0.0)
        return apply_gradients(self, tape, loss, lambda each: each * factor)


class ReadAfter(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        for _ in range(2):
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
                loss *= 1.0 + 0.5 * tf.cast(self.optimizer.iterations, tf.float32)
            apply_gradients(self, tape, loss)
        return {}


class Earlier(keras.Model):
    """A difference that is below 0: the counter of nnx has no sign."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        factor = tf.exp(0.1 * tf.cast(self.optimizer.iterations - 10, tf.float32))
        return apply_gradients(self, tape, loss, lambda each: each * factor)


KINDS = [Annealed, Alternating, ReadAfter, Earlier]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_reads_the_counter_trains_as_the_original(kind: Any) -> None:
    assert difference(steps.small(kind)) < 2e-6


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (Annealed, "iterations + 1", "iterations + 2"),
        (Alternating, "optimizer.step[...]", "(optimizer.step[...] + 1)"),
        (ReadAfter, "iterations + 1", "iterations"),
        (Earlier, ".astype(int)", ""),
    ],
)
def test_a_counter_that_is_read_wrong_trains_otherwise(kind: Any, old: str, new: str) -> None:
    def change(text: str) -> str:
        assert old in text, text
        return text.replace(old, new)

    # A counter without a sign gives what is no number.
    assert not difference(steps.small(kind), change) < 1e-4


class ByTheCritic(steps.Adversarial):
    """Reads the counter of one of two optimizers."""

    def penalty(self, real: Any, fake: Any) -> Any:
        return super().penalty(real, fake) / (1.0 + tf.cast(self.critic_optimizer.iterations, tf.float32))


def test_the_counter_of_one_of_two_optimizers_is_its_own() -> None:
    def build() -> Any:
        model = ByTheCritic()
        model.compile(keras.optimizers.SGD(0.05), keras.optimizers.SGD(0.1, momentum=0.9))
        return model

    assert difference(build()) < 2e-6
    assert (
        not difference(
            build(),
            lambda text: text.replace("'critic_optimizer'].step", "'maker_optimizer'].step").replace(
                "1.0 + iterations", "2.0 + iterations"
            ),
        )
        < 1e-4
    )


def counting(factor: Any) -> Any:
    """A compiled model whose gradients are multiplied with a function of the counter."""

    class Multiplied(keras.Model):
        def train_step(self, data: Any) -> Any:
            x, y = data
            times = tf.cast(factor(self.optimizer.iterations), tf.float32)
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            return apply_gradients(self, tape, loss, lambda each: each * (1.0 + 1e-9 * times))

    return steps.small(Multiplied)


@pytest.mark.parametrize(
    ("factor", "operation"),
    [
        (lambda count: count**2, "Pow"),
        (lambda count: tf.convert_to_tensor(count) * count, "Mul"),
        (lambda count: tf.square(tf.convert_to_tensor(count)), "Square"),
        (lambda count: count * 100_000, "Mul"),
        (lambda count: tf.bitwise.left_shift(tf.convert_to_tensor(count), tf.constant(33, tf.int64)), "LeftShift"),
        (lambda count: count + 2**33, "AddV2"),
        (lambda count: tf.convert_to_tensor(count) < 10**10, "Less"),
        (lambda count: tf.cond(count > 3, lambda: count * 100_000, lambda: tf.constant(0, tf.int64)), "Mul"),
    ],
)
def test_a_number_that_32_bits_do_not_hold_after_many_steps_is_a_place(factor: Any, operation: str) -> None:
    """Every gate would pass: the far steps that are judged are not as far as where 32 bits wrap."""
    written, training = written_of(counting(factor))
    reasons = [*(place.description for place in written.places), *training.unwritten]
    assert any(f"{operation} makes a whole number of the number of steps" in str(reason) for reason in reasons)


@pytest.mark.parametrize(
    "factor",
    [
        lambda count: count * 2 % 1000,
        lambda count: count // 3 - 10,
        lambda count: tf.cast(count, tf.float32) ** 2,
        lambda count: tf.cond(count > 3, lambda: count * 100, lambda: tf.constant(0, tf.int64)),
    ],
)
def test_a_number_that_32_bits_hold_is_written(factor: Any) -> None:
    assert difference(counting(factor)) < 2e-6
