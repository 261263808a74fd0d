"""Gathers and scatters by lists of places, as TensorFlow writes them, out of bounds as XLA has them."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp


def gather_nd(x: jax.Array, indices: jax.Array) -> jax.Array:
    """tf.gather_nd: the last axis of indices is one place, not several.

    Compiled by XLA, TensorFlow moves an index that is out of bounds, a negative one too, to the nearest within; on CPU
    without XLA it raises.

    Args:
      x: an array of any shape.
      indices: i32[..., n], places along the first n axes of x.

    Returns:
      [..., *x.shape[n:]].
    """
    return x.at[_places(indices)].get(mode="clip", wrap_negative_indices=False)


def scatter_nd(indices: jax.Array, updates: jax.Array, shape: Sequence[int]) -> jax.Array:
    """tf.scatter_nd: zeros, and updates added where they belong; those of one place add up.

    Compiled by XLA, TensorFlow drops what is out of bounds, negative indices too; on CPU without XLA it raises.

    Args:
      indices: i32[..., n], places along the first n axes of the result.
      updates: [..., *shape[n:]].
      shape: the shape of the result.
    """
    zeros = jnp.zeros(shape, updates.dtype)
    return zeros.at[_places(indices)].add(updates, mode="drop", wrap_negative_indices=False)


def tensor_scatter_nd_update(x: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
    """tf.tensor_scatter_nd_update: x with updates where they belong; which one stays of those of one place is not said.

    Compiled by XLA, TensorFlow drops what is out of bounds, negative indices too; on CPU without XLA it raises.

    Args:
      x: an array of any shape.
      indices: i32[..., n], places along the first n axes of x.
      updates: [..., *x.shape[n:]].
    """
    return x.at[_places(indices)].set(updates, mode="drop", wrap_negative_indices=False)


def reverse_sequence(x: jax.Array, lengths: jax.Array, axis: int = 1, batch_axis: int = 0) -> jax.Array:
    """tf.reverse_sequence: the first steps of each sequence turned around, the rest as it was.

    Args:
      x: an array of any shape with both axes.
      lengths: i32[batch], how many steps of each sequence.
      axis: the axis of steps.
      batch_axis: the axis of sequences.
    """

    def one(sequence: jax.Array, length: jax.Array) -> jax.Array:
        steps = jnp.arange(sequence.shape[0])
        return sequence[jnp.where(steps < length, length - 1 - steps, steps)]

    result = jax.vmap(one)(jnp.moveaxis(x, (batch_axis, axis), (0, 1)), lengths)
    return jnp.moveaxis(result, (0, 1), (batch_axis, axis))


def first_occurrences(x: jax.Array) -> jax.Array:
    """tf.unique(x).idx: values numbered in the order in which they occur first; jnp.unique numbers them by size.

    Args:
      x: [n].

    Returns:
      i32[n], from 0 to the number of values less one.
    """
    _, first, by_size = jnp.unique(x, return_index=True, return_inverse=True, size=x.size)
    # What jnp.unique fills up with stands last and repeats the first value's place.
    distinct = jnp.arange(x.size) <= jnp.max(by_size)
    order = jnp.argsort(jnp.argsort(jnp.where(distinct, first, x.size)))
    return order[by_size]


def _places(indices: jax.Array) -> tuple[jax.Array, ...]:
    return tuple(jnp.moveaxis(indices, -1, 0))
