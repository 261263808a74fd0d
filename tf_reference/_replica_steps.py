"""How TensorFlow takes a training step in replicas, and one part of the batch after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from tf_reference._gradients import densify
from tf_reference._model import Model
from tf_reference._session import Session, as_variable
from workloads.protocol.distributing import ALONE, SUMMED, Division, part_of
from workloads.protocol.framework import Unsupported

Step = Callable[..., Any]


def gradients_compiled(model: Model) -> Step:
    """The gradient is compiled; what crosses between replicas, and the update, are not."""
    return partial(replica_step, model, tf.function(partial(gradients_of_share, model), jit_compile=True))


def replica_step(model: Model, gradients: Step, *inputs: tf.Tensor) -> tf.Tensor:
    """A replica's share of the loss, all replicas' variables updated.

    Args:
      gradients: inputs -> the share, and its gradients.
    """
    share, by_variable = gradients(*inputs)
    # Of all replicas: the optimizer of Keras adds them up before it updates.
    model.optimizer.apply_gradients(zip(by_variable, _trained_variables(model), strict=True))
    return share


def gradients_of_share(model: Model, *inputs: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """A replica's share of the loss, and its gradients: the optimizer of Keras adds up those of all replicas."""
    loss = model.replica_loss or model.loss
    assert loss is not None
    return _gradients_of(model, loss, *inputs)


def _gradients_of(model: Model, loss: Step, *inputs: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """The loss, and the gradients that the optimizer wants, each an array of its variable's shape."""
    variables = [as_variable(variable) for variable in _trained_variables(model)]
    with tf.GradientTape() as tape:
        value = loss(*inputs)
        scaled_loss = model.optimizer.scale_loss(value)
    zero = tf.UnconnectedGradients.ZERO
    return value, densify(tape.gradient(scaled_loss, variables, unconnected_gradients=zero))


def handed_over(model: Model) -> Step:
    """The twin's own step of a replica.

    Raises:
      Unsupported: it hands over none.
    """
    if model.replicated is None:
        raise Unsupported("expected Model.replicated, found none: hand over a distributed step")
    return model.replicated


def in_turn(session: Session, strategy: str, division: Division, parts: int) -> Step:
    """The step of replicas on one device: right, or with a planted mistake that the check must catch.

    Args:
      parts: how many replicas there are.
    """
    model = session.model
    if model.loss is None or model.optimizer is None:
        raise Unsupported("expected Model.loss and Model.optimizer, found none: hand over both")
    gradients = tf.function(partial(_gradients_of, model, model.loss))
    trained_variables = _trained_variables(model)
    own = {id(as_variable(variable)) for variable in trained_variables}
    moving = [variable for variable in session.weights.values() if id(variable) not in own]
    update = tf.function(
        lambda *by_variable: model.optimizer.apply_gradients(zip(by_variable, trained_variables, strict=True))
    )

    def step(*inputs: tf.Tensor) -> tf.Tensor:
        before, results = [variable.numpy() for variable in moving], []
        for number in range(parts):
            for variable, value in zip(moving, before, strict=True):
                variable.assign(value)
            by_name = zip(session.twin.inputs, inputs, strict=True)
            part = [
                tf.constant(part_of(tensor.numpy(), division.axes[name], number, parts)) for name, tensor in by_name
            ]
            loss, by_variable = gradients(*part)
            results.append(
                (
                    loss.numpy(),
                    [gradient.numpy() for gradient in by_variable],
                    [variable.numpy() for variable in moving],
                )
            )
        losses, by_part, states = zip(*results, strict=True)
        means = [sum(of_variable) / parts for of_variable in zip(*by_part, strict=True)]
        state_means = [sum(of_variable) / parts for of_variable in zip(*states, strict=True)]
        if strategy == SUMMED:
            means = [gradient * parts for gradient in means]
        if strategy == ALONE:
            means, state_means = by_part[0], states[0]
        for variable, value in zip(moving, state_means, strict=True):
            variable.assign(value)
        update(*map(tf.constant, means))
        return tf.constant(sum(losses) / parts)

    return step


def _trained_variables(model: Model) -> list[Any]:
    return [variable for variable in model.weights.values() if variable.trainable]
