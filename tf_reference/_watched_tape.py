"""What a train_step of the user's own takes the gradient of: it is called as it stands, and its tape is watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from workloads._framework import Unsupported


class _Reached(Exception):
    """The step has come to its gradient."""


@tf.autograph.experimental.do_not_convert
def loss_of_step(step: Callable[[], Any]) -> Any:
    """The loss of a step, up to its gradient: nothing is applied, and a tape around it sees all of it.

    Args:
      step: calls the train_step.

    Raises:
      Unsupported: it asks no tf.GradientTape.
    """
    losses: list[Any] = []

    def stop(tape: Any, target: Any, *others: Any, **keywords: Any) -> Any:
        losses.append(target)
        raise _Reached

    with _gradients_by(stop):
        try:
            step()
        except _Reached:
            return losses[0]
    raise Unsupported("expected a train_step that asks a tf.GradientTape for gradients, found one that does not")


@tf.autograph.experimental.do_not_convert
def step_with_loss(step: Callable[[], Any]) -> Any:
    """The loss of a step that is taken whole.

    Args:
      step: calls the train_step.
    """
    losses: list[Any] = []
    original = tf.GradientTape.gradient

    def note(tape: Any, target: Any, *others: Any, **keywords: Any) -> Any:
        losses.append(target)
        return original(tape, target, *others, **keywords)

    with _gradients_by(note):
        step()
    return losses[0]


@contextmanager
def _gradients_by(function: Callable[..., Any]) -> Iterator[None]:
    original = tf.GradientTape.gradient
    tf.GradientTape.gradient = function
    try:
        yield
    finally:
        tf.GradientTape.gradient = original
