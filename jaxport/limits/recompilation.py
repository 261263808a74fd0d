"""Functions whose calls are traced and compiled again; workloads/limits/recompilation.py has the calls."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def cumsum(x: jax.Array) -> jax.Array:
    """f32[n] -> f32[n]."""
    return jnp.cumsum(x)


def add(a: jax.Array, b: jax.Array) -> jax.Array:
    """f32[n], f32[n] -> f32[n]."""
    return a + b


def argmax(x: jax.Array, axis: int) -> jax.Array:
    """f32[rows, columns] -> i32 of the other axis."""
    return jnp.argmax(x, axis)


def argmax_tensor(x: jax.Array, turn: int) -> jax.Array:
    """f32[rows, columns], a number -> i32 of the other axis."""
    return jnp.argmax(x, turn % 2)


def partial_batch(x: jax.Array) -> jax.Array:
    """f32[batch, 16] -> f32[batch, 8]."""
    kernel = jnp.linspace(-1.0, 1.0, 16 * 8).reshape(16, 8)
    return jax.nn.relu(x @ kernel)


def python_scalar(x: jax.Array, factor: float) -> jax.Array:
    """f32[n], a number -> f32[n]."""
    return x * factor


def unknown_size(x: jax.Array) -> jax.Array:
    """f32[batch, 16] -> f32[batch, 8]."""
    kernel = jnp.linspace(-1.0, 1.0, 16 * 8).reshape(16, 8)
    return jax.nn.relu(x @ kernel)
