"""The steps in JAX: a scan whose carry is the weight."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

_RATE = 0.05


def training_steps_in_a_loop(weight: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    def loss(weight: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.mean(jnp.square(jnp.tanh(x @ weight) - y))

    def step(weight: jax.Array, batch: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(weight, *batch)
        return weight - _RATE * gradient, value

    weight, losses = lax.scan(step, weight, (x, y))
    return losses[-1], weight
