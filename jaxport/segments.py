"""Segments that may be empty, as TensorFlow has them."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def segment_sum(x: jax.Array, segments: jax.Array, count: int) -> jax.Array:
    """tf.math.unsorted_segment_sum: segments of any rank, which jax.ops.segment_sum wants to be a vector.

    Args:
      x: [*segments.shape, ...].
      segments: i32, the segment of each part of x; what is negative, or count and more, is left out.
      count: the number of segments.

    Returns:
      [count, ...]: 0 where a segment is empty.
    """
    return jax.ops.segment_sum(*_flat(x, segments), count)


def segment_mean(x: jax.Array, segments: jax.Array, count: int) -> jax.Array:
    """tf.math.unsorted_segment_mean.

    Args:
      x: [*segments.shape, ...].
      segments: i32, the segment of each part of x, as for `segment_sum`.
      count: the number of segments.

    Returns:
      [count, ...]: 0 where a segment is empty.
    """
    sums, sizes = _sums_and_sizes(x, segments, count)
    return sums / sizes


def segment_sqrt_n(x: jax.Array, segments: jax.Array, count: int) -> jax.Array:
    """tf.math.unsorted_segment_sqrt_n, sums over the roots of sizes.

    Args:
      x: [*segments.shape, ...].
      segments: i32, the segment of each part of x, as for `segment_sum`.
      count: the number of segments.

    Returns:
      [count, ...]: 0 where a segment is empty.
    """
    sums, sizes = _sums_and_sizes(x, segments, count)
    return sums / jnp.sqrt(sizes)


def segment_max(x: jax.Array, segments: jax.Array, count: int) -> jax.Array:
    """tf.math.unsorted_segment_max.

    Args:
      x: [*segments.shape, ...].
      segments: i32, the segment of each part of x, as for `segment_sum`.
      count: how many segments there are.

    Returns:
      [count, ...]: the lowest finite number of its type where a segment is empty.
    """
    maxima = jax.ops.segment_max(*_flat(x, segments), count)
    return maxima if _is_whole(x) else jnp.where(_is_empty(x, segments, count), jnp.finfo(x.dtype).min, maxima)


def segment_min(x: jax.Array, segments: jax.Array, count: int) -> jax.Array:
    """tf.math.unsorted_segment_min.

    Args:
      x: [*segments.shape, ...].
      segments: i32, the segment of each part of x, as for `segment_sum`.
      count: how many segments there are.

    Returns:
      [count, ...]: the largest finite number of its type where a segment is empty.
    """
    minima = jax.ops.segment_min(*_flat(x, segments), count)
    return minima if _is_whole(x) else jnp.where(_is_empty(x, segments, count), jnp.finfo(x.dtype).max, minima)


def _flat(x: jax.Array, segments: jax.Array) -> tuple[jax.Array, jax.Array]:
    return x.reshape(segments.size, *x.shape[segments.ndim :]), segments.reshape(-1)


def _sums_and_sizes(x: jax.Array, segments: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    sums = segment_sum(x, segments, count)
    sizes = jnp.maximum(segment_sum(jnp.ones(segments.shape, x.dtype), segments, count), 1)
    return sums, sizes.reshape(count, *(1 for _ in sums.shape[1:]))


def _is_empty(x: jax.Array, segments: jax.Array, count: int) -> jax.Array:
    empty = segment_sum(jnp.ones(segments.shape, jnp.int32), segments, count) == 0
    return empty.reshape(count, *(1 for _ in x.shape[segments.ndim :]))


def _is_whole(x: jax.Array) -> bool:
    return jnp.issubdtype(x.dtype, jnp.integer)
