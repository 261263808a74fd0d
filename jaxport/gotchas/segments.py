"""Segments in JAX."""

import jax
import jax.numpy as jnp

from jaxport import segments as ported

COUNT = 5


def segment_max_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    return ported.segment_max(x, segments, COUNT)


def naive_segment_max_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    return jax.ops.segment_max(x, segments, COUNT)


def segment_min_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    return ported.segment_min(x, segments, COUNT)


def naive_segment_min_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    return jax.ops.segment_min(x, segments, COUNT)


def segment_mean_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    return ported.segment_mean(x, segments, COUNT)


def naive_segment_mean_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    count = jax.ops.segment_sum(jnp.ones_like(x), segments, COUNT)
    return jax.ops.segment_sum(x, segments, COUNT) / count


def segment_sqrt_n_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    return ported.segment_sqrt_n(x, segments, COUNT)


def naive_segment_sqrt_n_empty(x: jax.Array, segments: jax.Array) -> jax.Array:
    count = jax.ops.segment_sum(jnp.ones_like(x), segments, COUNT)
    return jax.ops.segment_sum(x, segments, COUNT) / jnp.sqrt(count)


def segment_sum_of_matrix(x: jax.Array, segments: jax.Array) -> jax.Array:
    return ported.segment_sum(x, segments, COUNT)


def segment_max_unfilled(x: jax.Array, segments: jax.Array) -> jax.Array:
    return ported.segment_max(x, segments, COUNT)


def naive_segment_max_unfilled(x: jax.Array, segments: jax.Array) -> jax.Array:
    return jnp.zeros((COUNT, 4), x.dtype).at[segments].max(x)
