"""Sorting, ranking and counting in JAX."""

import jax
import jax.numpy as jnp

from jaxport import indexing, metrics


def argsort_descending(x: jax.Array) -> jax.Array:
    return jnp.argsort(x, descending=True)


def naive_argsort_descending(x: jax.Array) -> jax.Array:
    return jnp.argsort(x)[..., ::-1]


def argsort_descending_unsigned(x: jax.Array) -> jax.Array:
    return jnp.argsort(x, descending=True)


def naive_argsort_descending_unsigned(x: jax.Array) -> jax.Array:
    return jnp.argsort(-x)


def argmax_default_axis(x: jax.Array) -> jax.Array:
    return jnp.argmax(x, axis=0)


def naive_argmax_default_axis(x: jax.Array) -> jax.Array:
    return jnp.argmax(x)


def unique_order(x: jax.Array) -> jax.Array:
    return indexing.first_occurrences(x)


def naive_unique_order(x: jax.Array) -> jax.Array:
    return jnp.unique(x, return_inverse=True, size=x.size)[1]


def top_k_order(x: jax.Array) -> jax.Array:
    return jax.lax.top_k(x, 3)[0]


def naive_top_k_order(x: jax.Array) -> jax.Array:
    return jnp.sort(x)[:, -3:]


def in_top_k_tie(targets: jax.Array, x: jax.Array) -> jax.Array:
    return metrics.in_top_k(targets, x, 3)


def naive_in_top_k_tie(targets: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.any(jax.lax.top_k(x, 3)[1] == targets[:, None], axis=1)


def discretization_edges(x: jax.Array) -> jax.Array:
    return jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), x, side="right")


def naive_discretization_edges(x: jax.Array) -> jax.Array:
    return jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), x)


def histogram_bins_beyond(x: jax.Array) -> jax.Array:
    return jnp.clip(jnp.digitize(x, jnp.linspace(-1.0, 1.0, 5)) - 1, 0, 3)


def naive_histogram_bins_beyond(x: jax.Array) -> jax.Array:
    return jnp.digitize(x, jnp.linspace(-1.0, 1.0, 5)) - 1


def bincount_negative(x: jax.Array) -> jax.Array:
    return jnp.bincount(jnp.where(x < 0, 6, x), length=6)


def naive_bincount_negative(x: jax.Array) -> jax.Array:
    return jnp.bincount(x, length=6)


def searchsorted_nan(x: jax.Array) -> jax.Array:
    roots = jnp.sqrt(x)
    return jnp.where(jnp.isnan(roots), 0, jnp.searchsorted(jnp.array([0.25, 0.75, 1.25], x.dtype), roots))


def naive_searchsorted_nan(x: jax.Array) -> jax.Array:
    return jnp.searchsorted(jnp.array([0.25, 0.75, 1.25], x.dtype), jnp.sqrt(x))


def searchsorted_rows(x: jax.Array, values: jax.Array) -> jax.Array:
    return jax.vmap(jnp.searchsorted)(jnp.sort(x), values)


def argsort(x: jax.Array) -> jax.Array:
    return jnp.argsort(x)


def argmax_tie(x: jax.Array) -> jax.Array:
    return jnp.argmax(x, axis=-1)


def top_k(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    values, indices = jax.lax.top_k(x, 3)
    return values, indices


def sort_descending_tie(x: jax.Array) -> jax.Array:
    return jnp.take_along_axis(x, jnp.argsort(x, descending=True), axis=-1)


def naive_sort_descending_tie(x: jax.Array) -> jax.Array:
    return jnp.sort(x, descending=True)


def searchsorted(x: jax.Array, values: jax.Array) -> jax.Array:
    return jnp.searchsorted(jnp.sort(x), values)


def bincount_beyond(x: jax.Array) -> jax.Array:
    return jnp.bincount(x, length=6)


def invert_permutation(x: jax.Array) -> jax.Array:
    return jnp.argsort(jnp.argsort(x))
