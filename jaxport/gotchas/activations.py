"""Activations in JAX."""

import jax
from flax import nnx


def prelu_at_zero(x: jax.Array, alpha: jax.Array) -> jax.Array:
    return jax.nn.relu(x) - alpha * jax.nn.relu(-x)


def naive_prelu_at_zero(x: jax.Array, alpha: jax.Array) -> jax.Array:
    layer = nnx.PReLU()
    layer.negative_slope = nnx.Param(alpha)
    return layer(x)
