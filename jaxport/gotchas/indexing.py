"""Indexing in JAX."""

import jax
import jax.numpy as jnp

SEGMENTS = 5


def gather_beyond(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(table, indices, axis=0, mode="clip")


def naive_gather_beyond(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(table, indices, axis=0)


def scatter_twice(indices: jax.Array, updates: jax.Array) -> jax.Array:
    return jnp.zeros((6, 4), updates.dtype).at[indices].add(updates)


def naive_scatter_twice(indices: jax.Array, updates: jax.Array) -> jax.Array:
    return jnp.zeros((6, 4), updates.dtype).at[indices].set(updates)


def segment_max_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    found = jax.ops.segment_max(x, segments, SEGMENTS)
    return jnp.where(jnp.isneginf(found), jnp.finfo(x.dtype).min, found)


def naive_segment_max_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    return jax.ops.segment_max(x, segments, SEGMENTS)


def segment_mean_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    count = jax.ops.segment_sum(jnp.ones_like(x), segments, SEGMENTS)
    return jax.ops.segment_sum(x, segments, SEGMENTS) / jnp.maximum(count, 1)


def naive_segment_mean_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    count = jax.ops.segment_sum(jnp.ones_like(x), segments, SEGMENTS)
    return jax.ops.segment_sum(x, segments, SEGMENTS) / count


def gather(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(table, indices, axis=0)


def one_hot_beyond(indices: jax.Array) -> jax.Array:
    return jax.nn.one_hot(indices, 6)


def segment_sum(x: jax.Array, segments: jax.Array) -> jax.Array:
    return jax.ops.segment_sum(x, segments, SEGMENTS)


def cumsum(x: jax.Array) -> jax.Array:
    return jnp.cumsum(x, axis=0)
