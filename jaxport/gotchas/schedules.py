"""Schedules in JAX at the steps of an array."""

from typing import Any

import jax
import jax.numpy as jnp
import optax

from jaxport import schedules

HALVING = optax.exponential_decay(0.1, 1, 0.5)


def cosine_warmup_steps(at: jax.Array) -> Any:
    return optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=4, decay_steps=4 + 8)(at)


def naive_cosine_warmup_steps(at: jax.Array) -> Any:
    return optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=4, decay_steps=8)(at)


def cosine_warmup_alpha(at: jax.Array) -> Any:
    return optax.warmup_cosine_decay_schedule(0.0, 0.5, warmup_steps=4, decay_steps=4 + 8, end_value=0.1 * 0.5)(at)


def naive_cosine_warmup_alpha(at: jax.Array) -> Any:
    return optax.warmup_cosine_decay_schedule(0.0, 0.5, warmup_steps=4, decay_steps=4 + 8, end_value=0.1)(at)


def cosine_warmup_first_step(at: jax.Array) -> jax.Array:
    return schedules.cosine_decay(0.0, 8, warmup_target=0.1, warmup_steps=4)(at, jnp.float32)


def naive_cosine_warmup_first_step(at: jax.Array) -> jax.Array:
    decay = optax.cosine_decay_schedule(0.1, 8)(at - 4)
    return jnp.minimum((at + 1) / 4, 1) * decay


def cosine_warmup_without_target(at: jax.Array) -> jax.Array:
    return schedules.cosine_decay(0.1, 8, warmup_steps=4)(at, jnp.float32)


def naive_cosine_warmup_without_target(at: jax.Array) -> Any:
    return optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=4, decay_steps=4 + 8)(at)


def cosine_restarts_length(at: jax.Array) -> jax.Array:
    return schedules.cosine_decay_restarts(0.1, 5)(at, jnp.float32)


def naive_cosine_restarts_length(at: jax.Array) -> Any:
    return optax.cosine_decay_schedule(0.1, 5)(at % 5)


def cosine_restarts_floor(at: jax.Array) -> jax.Array:
    return schedules.cosine_decay_restarts(0.1, 5, t_mul=1.0, m_mul=0.5, alpha=0.1)(at, jnp.float32)


def naive_cosine_restarts_floor(at: jax.Array) -> Any:
    periods = [optax.cosine_decay_schedule(0.1 * 0.5**period, 5, alpha=0.1) for period in range(3)]
    return optax.join_schedules(periods, [5, 10])(at)


def piecewise_boundary(at: jax.Array) -> Any:
    return optax.piecewise_constant_schedule(1.0, {4 + 1: 0.5, 8 + 1: 0.5})(at)


def naive_piecewise_boundary(at: jax.Array) -> Any:
    return optax.piecewise_constant_schedule(1.0, {4: 0.5, 8: 0.5})(at)


def piecewise_values(at: jax.Array) -> jax.Array:
    return schedules.piecewise_constant([4, 8], [0.1, 0.05, 0.01])(at, jnp.float32)


def naive_piecewise_values(at: jax.Array) -> Any:
    return optax.piecewise_constant_schedule(0.1, {4 + 1: 0.05, 8 + 1: 0.01})(at)


def inverse_time_decay(at: jax.Array) -> jax.Array:
    return schedules.inverse_time_decay(0.1, decay_steps=4, decay_rate=0.5)(at, jnp.float32)


def naive_inverse_time_decay(at: jax.Array) -> jax.Array:
    return 0.1 / (1 + 0.5 * at)


def inverse_time_staircase(at: jax.Array) -> jax.Array:
    return schedules.inverse_time_decay(0.1, decay_steps=4, decay_rate=0.5, staircase=True)(at, jnp.float32)


def naive_inverse_time_staircase(at: jax.Array) -> jax.Array:
    return 0.1 / (1 + 0.5 * at / 4)


def polynomial_cycle(at: jax.Array) -> jax.Array:
    return schedules.polynomial_decay(0.1, 4, end=0.01, power=2.0, cycle=True)(at, jnp.float32)


def naive_polynomial_cycle(at: jax.Array) -> Any:
    return optax.polynomial_schedule(0.1, 0.01, 2.0, 4)(at)


def polynomial_end(at: jax.Array) -> Any:
    return optax.linear_schedule(0.1, 1e-4, 8)(at)


def naive_polynomial_end(at: jax.Array) -> Any:
    return optax.linear_schedule(0.1, 0.0, 8)(at)


def natural_exp_decay(at: jax.Array) -> jax.Array:
    return 0.1 * jnp.exp(-0.5 * at / 4)


def naive_natural_exp_decay(at: jax.Array) -> Any:
    return optax.exponential_decay(0.1, 4, 0.5)(at)


def rate_after_step(weights: jax.Array, gradients: jax.Array) -> Any:
    return HALVING(1 + jnp.arange(len(gradients)))


def naive_rate_after_step(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    optimizer, rates = optax.inject_hyperparams(optax.sgd)(learning_rate=HALVING), []
    state: Any = optimizer.init(weights)
    for gradient in gradients:
        _, state = optimizer.update(gradient, state, weights)
        rates.append(state.hyperparams["learning_rate"])
    return jnp.stack(rates)


def cosine_decay(at: jax.Array) -> Any:
    return optax.cosine_decay_schedule(0.1, 8)(at)


def cosine_decay_alpha(at: jax.Array) -> Any:
    return optax.cosine_decay_schedule(0.1, 8, alpha=0.1)(at)


def exponential_decay(at: jax.Array) -> Any:
    return optax.exponential_decay(0.1, transition_steps=4, decay_rate=0.5)(at)


def exponential_staircase(at: jax.Array) -> Any:
    return optax.exponential_decay(0.1, transition_steps=4, decay_rate=0.5, staircase=True)(at)


def polynomial_decay(at: jax.Array) -> Any:
    return optax.polynomial_schedule(0.1, 0.01, 2.0, 8)(at)
