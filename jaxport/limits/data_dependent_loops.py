"""The functions in JAX, where a loop of the program is written as one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def while_loop(x: jax.Array) -> jax.Array:
    return lax.while_loop(lambda y: y.sum() < 500.0, lambda y: y * 1.5 + 0.25, x)


def naive_autograph_while(x: jax.Array) -> jax.Array:
    while x.sum() < 500.0:
        x = x * 1.5 + 0.25
    return x


def autograph_while(x: jax.Array) -> jax.Array:
    return lax.while_loop(lambda y: y.sum() < 500.0, lambda y: y * 1.5 + 0.25, x)


def naive_shape_that_grows_in_a_loop(x: jax.Array) -> jax.Array:
    return lax.fori_loop(0, 3, lambda _, y: jnp.concatenate([y, y + 1.0]), x)


def shape_that_grows_in_a_loop(x: jax.Array) -> jax.Array:
    for _ in range(3):
        x = jnp.concatenate([x, x + 1.0])
    return x
