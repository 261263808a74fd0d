"""Adam, and the optimizers that change one thing of it: AdamW, LAMB, AMSGrad, Adamax, Nadam, schedule-free AdamW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxport._optimizer_arithmetic import Rate, decay_by, length, rate_function, round_to_float32
from jaxport._slots import Slots, by_rule


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
    """
    rate_of, (decay_1, decay_2) = rate_function(learning_rate), round_to_float32(beta_1, beta_2)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, AdamState]:
        after = _advance(updates, state, beta_1, beta_2)

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
    """
    inner, decay_of = adam(learning_rate, beta_1, beta_2, epsilon), decay_by(learning_rate, weight_decay, exclude)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        steps, after = inner.update(updates, state, params)

        def decay(path: Any, step: jax.Array, weight: jax.Array) -> jax.Array:
            return step - decay_of(path, weight, state.step)

        return jax.tree_util.tree_map_with_path(decay, steps, params), after

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
    """
    rate_of, (decay_1, decay_2) = rate_function(learning_rate), round_to_float32(beta_1, beta_2)
    decay_of = decay_by(learning_rate, weight_decay, exclude)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, AdamState]:
        after = _advance(updates, state, beta_1, beta_2)

        def step_of(path: Any, m: jax.Array, v: jax.Array, weight: jax.Array) -> jax.Array:
            time = after.step.astype(m.dtype)
            direction = m / (1 - decay_1**time) / (jnp.sqrt(v / (1 - decay_2**time)) + epsilon)
            decay = decay_of(path, weight, state.step)
            ratio = _ratio(length(weight - decay), length(direction))
            return -decay - ratio * rate_of(state.step, m.dtype) * direction

        return jax.tree_util.tree_map_with_path(step_of, after.momentum, after.velocity, params), after

    return optax.GradientTransformation(_at_rest, update)


def _at_rest(params: Any) -> AdamState:
    zeros = jax.tree.map(jnp.zeros_like, params)
    return AdamState(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))


def _advance(updates: Any, state: AdamState, beta_1: float, beta_2: float) -> AdamState:
    momentum = jax.tree.map(lambda m, g: m + (g - m) * (1 - beta_1), state.momentum, updates)
    velocity = jax.tree.map(lambda v, g: v + (g * g - v) * (1 - beta_2), state.velocity, updates)
    return AdamState(state.step + 1, momentum, velocity)


def _ratio(weight: jax.Array, direction: jax.Array) -> jax.Array:
    """Their quotient, and 1 where either is 0: an array of zeros could never move otherwise."""
    return jnp.where((weight > 0) & (direction > 0), weight / direction, 1)


def amsgrad(
    learning_rate: Rate, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Adam(amsgrad=True) as Keras computes it: the maximum is of second moments without bias correction.

    Reddi et al. 2018 (arXiv:1904.09237). optax.amsgrad takes the maximum of corrected second moments.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_1: decay of the first moment.
      beta_2: decay of the second moment.
    """
    rate_of, (decay_1, decay_2) = rate_function(learning_rate), round_to_float32(beta_1, beta_2)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        time = (step + 1).astype(gradient.dtype)
        m = slots["momentum"] + (gradient - slots["momentum"]) * (1 - beta_1)
        v = slots["velocity"] + (gradient * gradient - slots["velocity"]) * (1 - beta_2)
        largest = jnp.maximum(slots["largest"], v)
        rate = rate_of(step, m.dtype) * jnp.sqrt(1 - decay_2**time) / (1 - decay_1**time)
        return -m * rate / (jnp.sqrt(largest) + epsilon), {"momentum": m, "velocity": v, "largest": largest}

    return by_rule(rule, momentum=jnp.zeros_like, velocity=jnp.zeros_like, largest=jnp.zeros_like)


def adamax(
    learning_rate: Rate, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Adamax as keras.optimizers.Adamax: epsilon is added to the largest gradient, not to what it is compared with.

    Kingma and Ba 2015 (arXiv:1412.6980), section 7.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_1: decay of the first moment.
      beta_2: decay of the largest gradient.
    """
    rate_of, (decay,) = rate_function(learning_rate), round_to_float32(beta_1)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        time = (step + 1).astype(gradient.dtype)
        m = slots["momentum"] + (gradient - slots["momentum"]) * (1 - beta_1)
        norm = jnp.maximum(beta_2 * slots["norm"], jnp.abs(gradient))
        return -rate_of(step, m.dtype) * m / ((1 - decay**time) * (norm + epsilon)), {"momentum": m, "norm": norm}

    return by_rule(rule, momentum=jnp.zeros_like, norm=jnp.zeros_like)


def nadam(
    learning_rate: Rate, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Nadam as keras.optimizers.Nadam: the momentum itself warms up, by 1 - 0.96^step / 2.

    Dozat 2016, "Incorporating Nesterov Momentum into Adam". optax.nadam has no such schedule.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_1: decay of the first moment once it is warm.
      beta_2: decay of the second moment.
    """
    rate_of, (decay_1, decay_2, warmth) = rate_function(learning_rate), round_to_float32(beta_1, beta_2, 0.96)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        time = (step + 1).astype(gradient.dtype)
        now, following = (decay_1 * (1 - 0.5 * warmth**t) for t in (time, time + 1))
        product = slots["product"] * now
        m = slots["momentum"] + (gradient - slots["momentum"]) * (1 - decay_1)
        v = slots["velocity"] + (gradient * gradient - slots["velocity"]) * (1 - decay_2)
        ahead = following * m / (1 - product * following) + (1 - now) * gradient / (1 - product)
        root = jnp.sqrt(v / (1 - decay_2**time))
        after = {"momentum": m, "velocity": v, "product": product}
        return -ahead * rate_of(step, m.dtype) / (root + epsilon), after

    return by_rule(
        rule, momentum=jnp.zeros_like, velocity=jnp.zeros_like, product=lambda weight: jnp.ones((), weight.dtype)
    )


def schedule_free_adamw(
    learning_rate: Rate = 0.0025,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-8,
    warmup_steps: int = 0,
) -> optax.GradientTransformation:
    """Schedule-free AdamW as Keras computes it: every step weighs alike in the average, whatever its rate.

    Defazio et al. 2024 (arXiv:2405.15682). The weights that it trains are the paper's y. From y the average is told
    with the z of after the step: Keras means that of before it, but on TensorFlow reads a variable that has moved.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_2: decay of the second moment.
      warmup_steps: the rate grows in a straight line for so many steps.
    """
    rate_of, (decay_1, decay_2) = rate_function(learning_rate), round_to_float32(beta_1, beta_2)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        time = (step + 1).astype(gradient.dtype)
        rate = rate_of(step, gradient.dtype) * (jnp.minimum(time / warmup_steps, 1) if warmup_steps else 1)
        v = slots["velocity"] + (gradient * gradient - slots["velocity"]) * (1 - decay_2)
        step_weight = slots["stepped"] - rate * gradient / (jnp.sqrt(v / (1 - decay_2**time)) + epsilon)
        average = (weight - (1 - decay_1) * step_weight) / decay_1
        average = (1 - 1 / time) * average + 1 / time * step_weight
        return (1 - decay_1) * step_weight + decay_1 * average - weight, {"stepped": step_weight, "velocity": v}

    return by_rule(rule, stepped=jnp.asarray, velocity=jnp.zeros_like)
