"""Steps of a Keras optimizer as a function of weights and gradients."""

from __future__ import annotations

import functools
from typing import Any

import keras
import tensorflow as tf


def steps(
    kind: type[keras.Optimizer],
    *arrays: tf.Tensor,
    names: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    constraint: keras.constraints.Constraint | None = None,
    average: bool = False,
    copies: str = "",
    rates: bool = False,
    **settings: Any,
) -> tf.Tensor:
    """The weights after every step, side by side.

    Keras's `stateless_apply` needs the JAX backend: variables are set, and the optimizer reset, at every call.

    Args:
      arrays: the weights, then as many gradients [steps, *shape of the weights].
      exclude: what a name holds whose variable does not decay.
      average: whether the moving averages of the weights come last.
      copies: what the paths of the optimizer's variables hold that start as the weights.
      rates: whether the learning rates, read after every step, are wanted instead.
    """
    weights, gradients = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
    shapes = tuple(tuple(weight.shape) for weight in weights)
    with tf.init_scope():
        optimizer, variables, at_rest = _build(kind, shapes, names, exclude, constraint, tuple(settings.items()))
    for variable, value in [*zip(variables, weights, strict=True), *at_rest]:
        variable.assign(weights[0] if copies and copies in variable.path else value)
    trajectory = []
    for step in range(gradients[0].shape[0]):
        optimizer.apply([gradient[step] for gradient in gradients], variables)
        trajectory.append(tf.convert_to_tensor(optimizer.learning_rate) if rates else _beside(variables))
    if average:
        optimizer.finalize_variable_values(variables)
        trajectory.append(_beside(variables))
    return tf.stack(trajectory)


@functools.cache
def _build(
    kind: Any, shapes: Any, names: Any, exclude: Any, constraint: Any, settings: Any
) -> tuple[Any, list[Any], list[tuple[Any, Any]]]:
    """The optimizer, its variables, and of its own variables what they start as."""
    optimizer = kind(**dict(settings))
    if exclude:
        optimizer.exclude_from_weight_decay(var_names=list(exclude))
    variables = [
        keras.Variable(tf.zeros(shape), name=name)
        for shape, name in zip(shapes, names or ["weights"] * len(shapes), strict=True)
    ]
    for variable in variables:
        variable.constraint = constraint
    optimizer.build(variables)
    own = [(variable, variable.numpy()) for variable in optimizer.variables if "learning_rate" not in variable.path]
    return optimizer, variables, own


def _beside(variables: list[Any]) -> tf.Tensor:
    return tf.concat([tf.reshape(variable.value, [-1]) for variable in variables], 0)
