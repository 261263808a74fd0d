"""Gradients at kinks in JAX."""

import jax
import jax.numpy as jnp

from jaxport import elementwise


def keras_hypot_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    larger = elementwise.maximum(elementwise.absolute(x), elementwise.absolute(y))
    smaller = elementwise.minimum(elementwise.absolute(x), elementwise.absolute(y))
    return larger * jnp.sqrt(1 + jnp.square(elementwise.divide_no_nan(smaller, larger)))


def naive_keras_hypot_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.hypot(x, y)
