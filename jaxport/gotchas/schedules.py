"""Schedules in JAX at the steps of an array."""

from typing import Any

import jax
import jax.numpy as jnp
import optax

from jaxport import schedules

HALVING = optax.exponential_decay(0.1, 1, 0.5)


def cosine_warmup_alpha(step: jax.Array) -> Any:
    return optax.warmup_cosine_decay_schedule(0.0, 0.5, warmup_steps=4, decay_steps=4 + 8, end_value=0.1 * 0.5)(step)


def naive_cosine_warmup_alpha(step: jax.Array) -> Any:
    return optax.warmup_cosine_decay_schedule(0.0, 0.5, warmup_steps=4, decay_steps=4 + 8, end_value=0.1)(step)


def cosine_warmup_first_step(step: jax.Array) -> jax.Array:
    return schedules.cosine_decay(0.0, 8, warmup_target=0.1, warmup_steps=4)(step, jnp.float32)


def naive_cosine_warmup_first_step(step: jax.Array) -> jax.Array:
    decay = optax.cosine_decay_schedule(0.1, 8)(step - 4)
    return jnp.minimum((step + 1) / 4, 1) * decay


def cosine_restarts_floor(step: jax.Array) -> jax.Array:
    return schedules.cosine_decay_restarts(0.1, 5, t_mul=1.0, m_mul=0.5, alpha=0.1)(step, jnp.float32)


def naive_cosine_restarts_floor(step: jax.Array) -> Any:
    periods = [optax.cosine_decay_schedule(0.1 * 0.5**period, 5, alpha=0.1) for period in range(3)]
    return optax.join_schedules(periods, [5, 10])(step)


def rate_after_step(weights: jax.Array, gradients: jax.Array) -> Any:
    return HALVING(1 + jnp.arange(len(gradients)))


def naive_rate_after_step(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    optimizer, rates = optax.inject_hyperparams(optax.sgd)(learning_rate=HALVING), []
    state: Any = optimizer.init(weights)
    for gradient in gradients:
        _, state = optimizer.update(gradient, state, weights)
        rates.append(state.hyperparams["learning_rate"])
    return jnp.stack(rates)
