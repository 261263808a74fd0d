"""Matrices as tf.linalg has them, where jax.numpy.linalg has no such argument."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def band_part(x: jax.Array, lower: int, upper: int) -> jax.Array:
    """tf.linalg.band_part: the diagonal, and so many below and above it; the rest is 0.

    Args:
      x: [..., m, n].
      lower: the number of diagonals below the main one; negative keeps all.
      upper: the number of diagonals above the main one; negative keeps all.
    """
    if lower >= 0:
        x = jnp.triu(x, -lower)
    return jnp.tril(x, upper) if upper >= 0 else x


def lstsq(a: jax.Array, b: jax.Array, l2_regularizer: float = 0.0) -> jax.Array:
    """tf.linalg.lstsq with fast=True: x that minimizes |a x - b|^2 + l2_regularizer |x|^2, by the normal equations.

    Args:
      a: [..., m, n], float32 or float64.
      b: [..., m, k].
      l2_regularizer: at least 0.

    Returns:
      [..., n, k]; where m < n without a regularizer the shortest such x.
    """
    a_transpose = jnp.matrix_transpose(a)
    rows, columns = a.shape[-2:]
    size = min(rows, columns)
    eye = l2_regularizer * jnp.eye(size, dtype=a.dtype)
    if rows >= columns:
        return _solve(a_transpose @ a + eye, a_transpose @ b)
    return a_transpose @ _solve(a @ a_transpose + eye, b)


def _solve(matrix: jax.Array, right: jax.Array) -> jax.Array:
    lower = jnp.linalg.cholesky(matrix)
    half = jax.lax.linalg.triangular_solve(lower, right, left_side=True, lower=True)
    return jax.lax.linalg.triangular_solve(lower, half, left_side=True, lower=True, transpose_a=True)
