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


def eigh(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    matrix = _spread(x)
    values, vectors = jnp.linalg.eigh(matrix + matrix.T)
    return values, (vectors * values**2) @ vectors.T


def qr(x: jax.Array) -> jax.Array:
    q, r = jnp.linalg.qr(_tall(x))
    signs = jnp.sign(jnp.diagonal(r))
    return jnp.concatenate([q * signs, r * signs[:, None]])
