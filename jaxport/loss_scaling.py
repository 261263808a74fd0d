"""Dynamic loss scaling, which keeps the gradients of a float16 model above the smallest float16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

INITIAL_SCALE = 2.0**15
GROWTH_STEPS = 2000
"""The default of keras.optimizers.LossScaleOptimizer, after Micikevicius et al. 2018, arXiv:1710.03740, section 3.2."""


class ScaledState(NamedTuple):
    """good_steps: i32[], since the scale last changed; scale: f32[]; inner: the state of the optimizer."""

    good_steps: jax.Array
    scale: jax.Array
    inner: Any


def scaled(
    optimizer: optax.GradientTransformation, initial_scale: float = INITIAL_SCALE, growth_steps: int = GROWTH_STEPS
) -> optax.GradientTransformation:
    """The optimizer, fed with gradients of the loss times `state.scale`, as keras.optimizers.LossScaleOptimizer does.

    A step whose gradients are not all finite is skipped and halves the scale; after `growth_steps` finite ones
    in a row it is doubled.

    Args:
      optimizer: takes gradients of the loss as it is.
      initial_scale: the first factor of the loss.
      growth_steps: steps without overflow after which the scale doubles.
    """

    def init(params: Any) -> ScaledState:
        return ScaledState(jnp.zeros((), jnp.int32), jnp.asarray(initial_scale, jnp.float32), optimizer.init(params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, ScaledState]:
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(updates)]))
        gradients = jax.tree.map(lambda gradient: gradient / state.scale, updates)
        steps, state_after = optimizer.update(gradients, state.inner, params)
        is_full = state.good_steps == growth_steps - 1
        scale = jnp.where(finite, jnp.where(is_full, 2, 1), 0.5) * state.scale
        good_steps = jnp.where(finite & ~is_full, state.good_steps + 1, 0)
        inner = jax.tree.map(lambda new, old: jnp.where(finite, new, old), state_after, state.inner)
        steps = jax.tree.map(lambda step: jnp.where(finite, step, 0), steps)
        return steps, ScaledState(good_steps, scale, inner)

    return optax.GradientTransformation(init, update)


def scaled_for(compute: str, optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    """The optimizer as a model that computes in this type needs it: bfloat16 reaches as far down as float32."""
    return scaled(optimizer) if compute == "float16" else optimizer


def gradients_of(
    loss: Callable[[Any], tuple[jax.Array, Any]], parameters: Any, state: Any
) -> tuple[Any, jax.Array, Any]:
    """Gradients as the optimizer of this state wants them, the loss as it is, and what else the loss returns.

    Args:
      loss: parameters -> (scalar loss, anything else).
      parameters: a pytree of float arrays.
      state: the optimizer's; a `ScaledState` scales the loss.
    """

    def scaled_loss(parameters: Any) -> tuple[jax.Array, tuple[jax.Array, Any]]:
        value, further = loss(parameters)
        return scale_loss(value, state), (value, further)

    gradients, (value, further) = jax.grad(scaled_loss, has_aux=True)(parameters)
    return gradients, value, further


def scale_loss(loss: jax.Array, state: Any) -> jax.Array:
    """The loss whose gradients `scaled` wants; as it is where the optimizer scales none.

    Args:
      loss: a scalar.
      state: the optimizer's.
    """
    return loss * state.scale if isinstance(state, ScaledState) else loss
