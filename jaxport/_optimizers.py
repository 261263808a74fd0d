"""Optimizers whose formula in optax is not the one that TensorFlow uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

Rate = float | Callable[[jax.Array, Any], jax.Array]
"""A learning rate: a number, or a function of the step (i32[], counted from 0) and the dtype to compute in."""


class AdamState(NamedTuple):
    """step: i32[]; momentum and velocity: pytrees like the parameters."""

    step: jax.Array
    momentum: Any
    velocity: Any


def adam(
    learning_rate: Rate, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Adam as Keras computes it: epsilon is added to the uncorrected root ("epsilon hat").

    Kingma and Ba 2015 (arXiv:1412.6980), the efficient order at the end of section 2. optax.adam adds
    epsilon after the bias correction instead, which is another step wherever gradients are small.
    Keras also rounds the rate and both betas of the correction to float32, in every dtype policy;
    rounding them here too is what lets the float64 twins agree to the last digits.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_1: decay of the first moment.
      beta_2: decay of the second moment.
      epsilon: is added to the root of the second moment.
    """
    rate_of, (decay_1, decay_2) = _scheduled(learning_rate), _rounded(beta_1, beta_2)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, AdamState]:
        after = _moved(updates, state, beta_1, beta_2)

        def corrected_rate(dtype: Any) -> jax.Array:
            time, rate = after.step.astype(dtype), rate_of(state.step, dtype)
            return rate * jnp.sqrt(1 - decay_2**time) / (1 - decay_1**time)

        def step_of(m: jax.Array, v: jax.Array) -> jax.Array:
            return -m * corrected_rate(m.dtype) / (jnp.sqrt(v) + epsilon)

        return jax.tree.map(step_of, after.momentum, after.velocity), after

    return optax.GradientTransformation(_at_rest, update)


def adamw(
    learning_rate: Rate,
    weight_decay: float,
    exclude: Sequence[str] = (),
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
) -> optax.GradientTransformation:
    """Adam whose weights decay by the rate times `weight_decay`, but for those whose path holds a text in `exclude`.

    Loshchilov and Hutter 2019 (arXiv:1711.05101), in Keras's order: the decay is of the weights before the step.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      weight_decay: share of a weight that a rate of 1 would take away a step.
      exclude: texts; a weight whose path holds one does not decay.
      beta_1: decay of the first moment.
      beta_2: decay of the second moment.
      epsilon: is added to the root of the second moment.
    """
    inner, decay_of = adam(learning_rate, beta_1, beta_2, epsilon), _decay(learning_rate, weight_decay, exclude)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        steps, after = inner.update(updates, state, params)

        def decayed(path: Any, step: jax.Array, weight: jax.Array) -> jax.Array:
            return step - decay_of(path, weight, state.step)

        return jax.tree_util.tree_map_with_path(decayed, steps, params), after

    return optax.GradientTransformation(_at_rest, update)


def lamb(
    learning_rate: Rate,
    weight_decay: float,
    exclude: Sequence[str] = (),
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
) -> optax.GradientTransformation:
    """LAMB as Keras computes it: each array's step is as long as the rate times its weights.

    You et al. 2020 (arXiv:1904.00962), with the decay of AdamW before the step; the paper, and optax.lamb, add
    the decay to the direction before its length is taken.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      weight_decay: share of a weight that a rate of 1 would take away a step.
      exclude: texts; a weight whose path holds one does not decay.
      beta_1: decay of the first moment.
      beta_2: decay of the second moment.
      epsilon: is added to the root of the second moment.
    """
    rate_of, (decay_1, decay_2) = _scheduled(learning_rate), _rounded(beta_1, beta_2)
    decay_of = _decay(learning_rate, weight_decay, exclude)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, AdamState]:
        after = _moved(updates, state, beta_1, beta_2)

        def step_of(path: Any, m: jax.Array, v: jax.Array, weight: jax.Array) -> jax.Array:
            time = after.step.astype(m.dtype)
            direction = m / (1 - decay_1**time) / (jnp.sqrt(v / (1 - decay_2**time)) + epsilon)
            decay = decay_of(path, weight, state.step)
            ratio = _ratio(_length(weight - decay), _length(direction))
            return -decay - ratio * rate_of(state.step, m.dtype) * direction

        return jax.tree_util.tree_map_with_path(step_of, after.momentum, after.velocity, params), after

    return optax.GradientTransformation(_at_rest, update)


def _at_rest(params: Any) -> AdamState:
    zeros = jax.tree.map(jnp.zeros_like, params)
    return AdamState(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))


def _moved(updates: Any, state: AdamState, beta_1: float, beta_2: float) -> AdamState:
    momentum = jax.tree.map(lambda m, g: m + (g - m) * (1 - beta_1), state.momentum, updates)
    velocity = jax.tree.map(lambda v, g: v + (g * g - v) * (1 - beta_2), state.velocity, updates)
    return AdamState(state.step + 1, momentum, velocity)


def _rounded(*values: float) -> tuple[float, ...]:
    return tuple(float(np.float32(value)) for value in values)


def _scheduled(learning_rate: Rate) -> Callable[[jax.Array, Any], Any]:
    """A schedule computes in the dtype that it is asked for; Keras rounds only a rate that is a number."""
    if callable(learning_rate):
        return learning_rate
    (rate,) = _rounded(learning_rate)
    return lambda step, dtype: rate


def _decay(
    learning_rate: Rate, weight_decay: float, exclude: Sequence[str]
) -> Callable[[Any, jax.Array, jax.Array], Any]:
    """(path, weight, step) -> what the weight loses; Keras rounds the factor to float32."""
    rate_of, (factor,) = _scheduled(learning_rate), _rounded(weight_decay)
    kept = re.compile("|".join(map(re.escape, exclude))) if exclude else None

    def decay_of(path: Any, weight: jax.Array, step: jax.Array) -> Any:
        if kept and kept.search(jax.tree_util.keystr(path)):
            return 0
        return weight * factor * rate_of(step, weight.dtype)

    return decay_of


def _length(values: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.sum(values * values))


def _ratio(weight: jax.Array, direction: jax.Array) -> jax.Array:
    """Their quotient, and 1 where either is 0: an array of zeros could never move otherwise."""
    return jnp.where((weight > 0) & (direction > 0), weight / direction, 1)


def sgd(learning_rate: float, momentum: float) -> optax.GradientTransformation:
    """SGD with momentum as Keras computes it: the rate scales a gradient before it enters the trace.

    optax.sgd scales what leaves the trace, which is another step as soon as the rate changes. Keras rounds rate and
    momentum to float32, as for Adam.
    """
    rate, decay = _rounded(learning_rate, momentum)
    return optax.chain(optax.scale_by_learning_rate(rate), optax.trace(decay))
