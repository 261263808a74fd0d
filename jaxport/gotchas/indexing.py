"""Indexing in JAX."""

import jax

from jaxport import indexing


def tensor_scatter_update_negative(x: jax.Array, index: jax.Array, updates: jax.Array) -> jax.Array:
    x, updates = jax.lax.stop_gradient((x, updates))
    return indexing.tensor_scatter_nd_update(x, index[:, None], updates)


def naive_tensor_scatter_update_negative(x: jax.Array, index: jax.Array, updates: jax.Array) -> jax.Array:
    x, updates = jax.lax.stop_gradient((x, updates))
    return x.at[index].set(updates, mode="drop")
