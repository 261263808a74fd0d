"""Matrices in JAX."""

import jax
import jax.numpy as jnp

from jaxport import linear_algebra


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


def matrix_norm(x: jax.Array) -> jax.Array:
    return jnp.linalg.norm(x.reshape(-1))


def naive_matrix_norm(x: jax.Array) -> jax.Array:
    return jnp.linalg.norm(x, ord=2)


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


def diag_part(x: jax.Array) -> jax.Array:
    return jnp.diagonal(x, axis1=-2, axis2=-1)


def naive_diag_part(x: jax.Array) -> jax.Array:
    return jnp.diagonal(x)


def trace(x: jax.Array) -> jax.Array:
    return jnp.trace(x, axis1=-2, axis2=-1)


def naive_trace(x: jax.Array) -> jax.Array:
    return jnp.trace(x)


def matrix_transpose(x: jax.Array) -> jax.Array:
    return jnp.matrix_transpose(x[:, :2])


def naive_matrix_transpose(x: jax.Array) -> jax.Array:
    return x[:, :2].T


def batch_matmul(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


def naive_batch_matmul(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.dot(x, y)


def matvec(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.matvec(x, y)


def naive_matvec(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


def band_part(x: jax.Array) -> jax.Array:
    return linear_algebra.band_part(x, 1, 0)


def naive_band_part(x: jax.Array) -> jax.Array:
    return jnp.tril(x, 1)


def lstsq_regularized(x: jax.Array, b: jax.Array) -> jax.Array:
    return linear_algebra.lstsq(x, b, 0.5)


def naive_lstsq_regularized(x: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.linalg.lstsq(x, b)[0]


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


def tensordot(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.tensordot(x, y, 1), jnp.tensordot(x, y, [[0, 1], [1, 0]])


def einsum(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.einsum("bij,bjk->ik", x, y)


def cross(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.cross(x, y)


def matrix_diag(x: jax.Array) -> jax.Array:
    return jax.vmap(jnp.diag)(x)
