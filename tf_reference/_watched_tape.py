"""Watch the gradients that a user's train_step takes and gives to optimizers, while it runs unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import tensorflow as tf

from tf_reference._drawn_numbers import replace_until_end
from tf_reference._gradients import densify
from workloads.protocol.framework import Unsupported


@tf.autograph.experimental.do_not_convert
def loss_of_step(step: Callable[[], Any]) -> Any:
    """The loss of a step whose optimizers change nothing. Its gradients are those that the optimizers are given.

    Raises:
      Unsupported: it asks no tf.GradientTape for gradients of weights.
    """
    with _losses_noted() as losses, _updates_noted() as updates:
        step()
    value = tf.stop_gradient(_sum(losses))
    for weight, gradient in updates:
        # 0, with the gradient that was given in place of its own.
        change = weight.value - tf.stop_gradient(weight.value)
        value += tf.cast(tf.reduce_sum(tf.stop_gradient(gradient) * change), value.dtype)
    return value


@tf.autograph.experimental.do_not_convert
def step_with_loss(step: Callable[[], Any]) -> Any:
    """The loss of a step that is taken whole: of several that it takes gradients of, the sum.

    Raises:
      Unsupported: as of `loss_of_step`.
    """
    with _losses_noted() as losses:
        step()
    return _sum(losses)


def _sum(losses: list[Any]) -> Any:
    if not losses:
        raise Unsupported("expected a train_step that asks a tf.GradientTape for gradients, found one that does not")
    return sum(losses[1:], start=losses[0])


@contextmanager
def _losses_noted() -> Iterator[list[Any]]:
    """Inside, what gradients of weights are taken of is noted."""
    losses: list[Any] = []
    original = tf.GradientTape.gradient

    def note(tape: Any, target: Any, sources: Any, *others: Any, **keywords: Any) -> Any:
        if any(isinstance(source, keras.Variable | tf.Variable) for source in tf.nest.flatten(sources)):
            losses.extend(map(tf.reduce_sum, tf.nest.flatten(target)))
        return original(tape, target, sources, *others, **keywords)

    with ExitStack() as stack:
        replace_until_end(stack, tf.GradientTape, "gradient", note)
        yield losses


@contextmanager
def _updates_noted() -> Iterator[list[tuple[Any, Any]]]:
    """Inside, no optimizer changes a weight: weights and gradients that it is given are noted."""
    updates: list[tuple[Any, Any]] = []

    def note(optimizer: Any, grads: Any, trainable_variables: Any = None) -> None:
        weights = optimizer._trainable_variables if trainable_variables is None else trainable_variables
        pairs = zip(weights, densify(grads), strict=True)
        updates.extend((weight, gradient) for weight, gradient in pairs if gradient is not None)

    with ExitStack() as stack:
        replace_until_end(stack, keras.optimizers.Optimizer, "apply", note)
        yield updates
