"""Matrices in JAX."""

import jax
import jax.numpy as jnp


def _definite(x: jax.Array) -> jax.Array:
    return x @ x.T + 4 * jnp.eye(4)


def _spread(x: jax.Array) -> jax.Array:
    return jnp.tanh(x) + jnp.diag(jnp.array([10.0, 20.0, 30.0, 40.0]))


def _triangular(x: jax.Array) -> jax.Array:
    return jnp.tanh(x) + 6 * jnp.eye(4)


def _tall(x: jax.Array) -> jax.Array:
    return jnp.tanh(x) + 4 * jnp.eye(6, 4)


def svd(x: jax.Array) -> jax.Array:
    u, s, adjoint = jnp.linalg.svd(_spread(x), full_matrices=False)
    return (u * s) @ adjoint


def naive_svd(x: jax.Array) -> jax.Array:
    u, s, v = jnp.linalg.svd(_spread(x), full_matrices=False)
    return (u * s) @ v.T


def svd_full_matrices(x: jax.Array) -> jax.Array:
    u, _, _ = jnp.linalg.svd(_tall(jax.lax.stop_gradient(x)), full_matrices=False)
    return u @ u.T


def naive_svd_full_matrices(x: jax.Array) -> jax.Array:
    u, _, _ = jnp.linalg.svd(_tall(jax.lax.stop_gradient(x)))
    return u @ u.T


def triangular_solve(x: jax.Array, b: jax.Array) -> jax.Array:
    return jax.scipy.linalg.solve_triangular(_triangular(x), b, lower=True)


def naive_triangular_solve(x: jax.Array, b: jax.Array) -> jax.Array:
    return jax.scipy.linalg.solve_triangular(_triangular(x), b)


def triangular_solve_adjoint(x: jax.Array, b: jax.Array) -> jax.Array:
    return jax.scipy.linalg.solve_triangular(_triangular(x), b, trans=1, lower=True)


def naive_triangular_solve_adjoint(x: jax.Array, b: jax.Array) -> jax.Array:
    return jax.scipy.linalg.solve_triangular(_triangular(x), b, trans=1)


def cholesky_solve(x: jax.Array, b: jax.Array) -> jax.Array:
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(_definite(x)), True), b)


def naive_cholesky_solve(x: jax.Array, b: jax.Array) -> jax.Array:
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(_definite(x)), False), b)


def cholesky(x: jax.Array) -> jax.Array:
    return jnp.linalg.cholesky(_definite(x))


def eigh(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    matrix = _spread(x)
    values, vectors = jnp.linalg.eigh(matrix + matrix.T)
    return values, (vectors * values**2) @ vectors.T


def qr(x: jax.Array) -> jax.Array:
    q, r = jnp.linalg.qr(_tall(x))
    signs = jnp.sign(jnp.diagonal(r))
    return jnp.concatenate([q * signs, r * signs[:, None]])


def inverse(x: jax.Array) -> jax.Array:
    return jnp.linalg.inv(_triangular(x))
