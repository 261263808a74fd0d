"""The arguments that every optimizer of Keras has: weight_decay, clipnorm, use_ema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxport._optimizer_arithmetic import Rate, decay_by, length


class Decaying(NamedTuple):
    """step: i32[]; inner: the state of the optimizer whose weights decay."""

    step: jax.Array
    inner: Any


def with_weight_decay(
    inner: optax.GradientTransformation, learning_rate: Rate, weight_decay: float, exclude: Sequence[str] = ()
) -> optax.GradientTransformation:
    """Any optimizer with Keras's `weight_decay`: weights lose their share before the step, and it never enters a slot.

    optax.add_decayed_weights before an optimizer adds the decay to gradients, and so to traces.

    Args:
      learning_rate: as that of `inner`: it scales the decay too.
      weight_decay: share of a weight that a rate of 1 would take away a step.
      exclude: texts; a weight whose path holds one does not decay.
    """
    decay_of = decay_by(learning_rate, weight_decay, exclude)

    def init(params: Any) -> Decaying:
        return Decaying(jnp.zeros((), jnp.int32), inner.init(params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Decaying]:
        decays = jax.tree_util.tree_map_with_path(lambda path, w: decay_of(path, w, state.step), params)
        decayed_params = jax.tree.map(lambda weight, loss: weight - loss, params, decays)
        steps, after = inner.update(updates, state.inner, decayed_params)
        return jax.tree.map(lambda step, loss: step - loss, steps, decays), Decaying(state.step + 1, after)

    return optax.GradientTransformation(init, update)


def clip_by_norm(clipnorm: float) -> optax.GradientTransformation:
    """Keras's `clipnorm`: each array's gradient is at most so long; optax.clip_by_global_norm is `global_clipnorm`."""

    def clip(gradient: jax.Array) -> jax.Array:
        return gradient * clipnorm / jnp.maximum(length(gradient), clipnorm)

    return optax.stateless(lambda updates, params: jax.tree.map(clip, updates))


class Averaging(NamedTuple):
    """step: i32[]; average: a pytree like the parameters."""

    step: jax.Array
    average: Any


def average_weights(momentum: float = 0.99, overwrite_frequency: int | None = None) -> optax.GradientTransformation:
    """Keras's `use_ema`, as the last of a chain: the average of the weights starts as they are after the first step.

    optax.ema starts at 0 and divides by what is missing, which is another average.

    Args:
      momentum: share of the average that is kept a step.
    """

    def init(params: Any) -> Averaging:
        return Averaging(jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Averaging]:
        def move(average: jax.Array, weight: jax.Array, step: jax.Array) -> jax.Array:
            share = jnp.where(state.step == 0, 0, jnp.asarray(momentum, weight.dtype))
            return share * average + (1 - share) * (weight + step)

        average, after = jax.tree.map(move, state.average, params, updates), state.step + 1
        if overwrite_frequency:
            due = after % overwrite_frequency == 0
            updates = jax.tree.map(lambda a, w, step: jnp.where(due, a - w, step), average, params, updates)
        return updates, Averaging(after, average)

    return optax.GradientTransformation(init, update)
