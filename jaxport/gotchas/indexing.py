"""Indexing in JAX."""

import jax
import jax.numpy as jnp

from jaxport import indexing


def gather_beyond(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(jax.lax.stop_gradient(table), indices, axis=0, mode="clip")


def naive_gather_beyond(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(jax.lax.stop_gradient(table), indices, axis=0)


def gather_negative(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(jax.lax.stop_gradient(table), indices, axis=0, mode="clip")


def naive_gather_negative(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(table)[indices]


def scatter_negative(indices: jax.Array, updates: jax.Array) -> jax.Array:
    return indexing.scatter_nd(indices[:, None], jax.lax.stop_gradient(updates), (6, 4))


def naive_scatter_negative(indices: jax.Array, updates: jax.Array) -> jax.Array:
    return jnp.zeros((6, 4), updates.dtype).at[indices].add(jax.lax.stop_gradient(updates), mode="drop")


def tensor_scatter_update_negative(x: jax.Array, index: jax.Array, updates: jax.Array) -> jax.Array:
    x, updates = jax.lax.stop_gradient((x, updates))
    return indexing.tensor_scatter_nd_update(x, index[:, None], updates)


def naive_tensor_scatter_update_negative(x: jax.Array, index: jax.Array, updates: jax.Array) -> jax.Array:
    x, updates = jax.lax.stop_gradient((x, updates))
    return x.at[index].set(updates, mode="drop")
