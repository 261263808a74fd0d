"""Rows of unlike length in JAX: flat values with the number of each one's row, or padding with a mask."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxport import segments

LENGTHS = np.array([3, 6, 1])
LENGTHS_WITH_EMPTY = np.array([3, 6, 0, 1])
VOCABULARY, WORDS = ("the", "cat", "sat"), ("sat", "the", "dog", "cat", "the")


def _rows(lengths: np.ndarray = LENGTHS) -> jax.Array:
    """The row of every value."""
    return jnp.asarray(np.repeat(np.arange(len(lengths)), lengths))


def _pad(x: jax.Array) -> jax.Array:
    """Rows side by side, with zeros behind the shorter ones."""
    place = np.concatenate([np.arange(length) for length in LENGTHS])
    return jnp.zeros((len(LENGTHS), max(LENGTHS), *x.shape[1:]), x.dtype).at[_rows(), place].set(x)


def _sum(x: jax.Array, lengths: np.ndarray = LENGTHS) -> jax.Array:
    return jax.ops.segment_sum(x, _rows(lengths), len(lengths))


def ragged_mean(x: jax.Array) -> jax.Array:
    return _sum(x) / LENGTHS[:, None].astype(x.dtype)


def naive_ragged_mean(x: jax.Array) -> jax.Array:
    return jnp.mean(_pad(x), axis=1)


def ragged_mean_of_all(x: jax.Array) -> jax.Array:
    return jnp.mean(x)


def naive_ragged_mean_of_all(x: jax.Array) -> jax.Array:
    return jnp.mean(ragged_mean(x))


def ragged_variance(x: jax.Array) -> jax.Array:
    return ragged_mean(jnp.square(x - ragged_mean(x)[_rows()]))


def naive_ragged_variance(x: jax.Array) -> jax.Array:
    return jnp.var(_pad(x), axis=1)


def ragged_bag(table: jax.Array, ids: jax.Array) -> jax.Array:
    return ragged_mean(table[ids])


def naive_ragged_bag(table: jax.Array, ids: jax.Array) -> jax.Array:
    return jnp.mean(table[_pad(ids)], axis=1)


def ragged_bag_sqrtn(table: jax.Array, ids: jax.Array) -> jax.Array:
    return segments.segment_sqrt_n(table[ids], _rows(), len(LENGTHS))


def naive_ragged_bag_sqrtn(table: jax.Array, ids: jax.Array) -> jax.Array:
    return ragged_mean(table[ids])


def string_lookup(table: jax.Array) -> jax.Array:
    numbers = {word: number for number, word in enumerate(VOCABULARY, 1)}
    return table[np.array([numbers.get(word, 0) for word in WORDS])]


def naive_string_lookup(table: jax.Array) -> jax.Array:
    numbers = {word: number for number, word in enumerate(VOCABULARY)}
    return table[np.array([numbers.get(word, len(numbers)) for word in WORDS])]
