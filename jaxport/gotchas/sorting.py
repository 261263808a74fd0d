"""Sorting, ranking and counting in JAX."""

import jax
import jax.numpy as jnp


def searchsorted_nan(x: jax.Array) -> jax.Array:
    roots = jnp.sqrt(x)
    return jnp.where(jnp.isnan(roots), 0, jnp.searchsorted(jnp.array([0.25, 0.75, 1.25], x.dtype), roots))


def naive_searchsorted_nan(x: jax.Array) -> jax.Array:
    return jnp.searchsorted(jnp.array([0.25, 0.75, 1.25], x.dtype), jnp.sqrt(x))


def top_k(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    values, indices = jax.lax.top_k(x, 3)
    return values, indices
