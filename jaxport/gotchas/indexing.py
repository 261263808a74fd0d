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


def gather_default_axis(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(table, indices, axis=0)


def naive_gather_default_axis(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(table, indices)


def gather_batch_dims(x: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take_along_axis(x, indices[:, :, None], axis=1)


def naive_gather_batch_dims(x: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(x, indices, axis=1)


def gather_nd(x: jax.Array, indices: jax.Array) -> jax.Array:
    return indexing.gather_nd(x, indices)


def naive_gather_nd(x: jax.Array, indices: jax.Array) -> jax.Array:
    return x[indices]


def scatter_twice(indices: jax.Array, updates: jax.Array) -> jax.Array:
    return jnp.zeros((6, 4), updates.dtype).at[indices].add(updates)


def naive_scatter_twice(indices: jax.Array, updates: jax.Array) -> jax.Array:
    return jnp.zeros((6, 4), updates.dtype).at[indices].set(updates)


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


def reverse_sequence(x: jax.Array, lengths: jax.Array) -> jax.Array:
    return indexing.reverse_sequence(x, lengths)


def naive_reverse_sequence(x: jax.Array, lengths: jax.Array) -> jax.Array:
    return jnp.flip(x, axis=1)


def one_hot_off_value(indices: jax.Array) -> jax.Array:
    return jax.nn.one_hot(indices, 6) * (0.75 - -0.25) - 0.25


def naive_one_hot_off_value(indices: jax.Array) -> jax.Array:
    return jax.nn.one_hot(indices, 6) * 0.75


def split_sizes(x: jax.Array) -> jax.Array:
    return jnp.split(x, [1, 1 + 3], axis=1)[1]


def naive_split_sizes(x: jax.Array) -> jax.Array:
    return jnp.split(x, [1, 3, 4], axis=1)[1]


def where_v1_rows(condition: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(condition[:, None], x, y)


def naive_where_v1_rows(condition: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(condition, x, y)


def boolean_mask_mean(x: jax.Array, lengths: jax.Array) -> jax.Array:
    return jnp.mean(jax.lax.stop_gradient(x), where=jnp.arange(8) < lengths)


def naive_boolean_mask_mean(x: jax.Array, lengths: jax.Array) -> jax.Array:
    return jnp.mean(jnp.where(jnp.arange(8) < lengths, jax.lax.stop_gradient(x), 0))


def roll(x: jax.Array) -> jax.Array:
    return jnp.roll(x, 1, axis=1)


def naive_roll(x: jax.Array) -> jax.Array:
    return jnp.roll(x, 1)


def tile(x: jax.Array) -> jax.Array:
    return jnp.tile(x, (2, 1))


def naive_tile(x: jax.Array) -> jax.Array:
    return jnp.repeat(x, 2, axis=0)


def gather(table: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take(table, indices, axis=0)


def one_hot_beyond(indices: jax.Array) -> jax.Array:
    return jax.nn.one_hot(indices, 6)


def one_hot_axis(indices: jax.Array) -> jax.Array:
    return jax.nn.one_hot(indices, 6, axis=1)


def sequence_mask(lengths: jax.Array) -> jax.Array:
    return jnp.arange(6) < lengths[:, None]


def slice_beyond(x: jax.Array) -> jax.Array:
    return x[2:99, -5:]


def slice_backwards(x: jax.Array) -> jax.Array:
    return x[::-1, 6:1:-2]


def tensor_scatter_add(x: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
    return x.at[indices].add(updates)


def meshgrid(x: jax.Array, y: jax.Array) -> list[jax.Array]:
    return jnp.meshgrid(x, y)
