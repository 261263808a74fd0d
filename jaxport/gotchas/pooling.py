"""Pooling in JAX."""

import jax
import jax.numpy as jnp
from flax import nnx


def max_pool_padding(images: jax.Array) -> jax.Array:
    return nnx.max_pool(jax.lax.stop_gradient(images), (2, 2), (2, 2), "SAME")


def naive_max_pool_padding(images: jax.Array) -> jax.Array:
    bordered_images = jnp.pad(jax.lax.stop_gradient(images), ((0, 0), (0, 1), (0, 1), (0, 0)))
    return nnx.max_pool(bordered_images, (2, 2), (2, 2))


def global_average_pooling_masked(x: jax.Array, lengths: jax.Array) -> jax.Array:
    mask = (jnp.arange(8) < lengths[:, None])[:, :, None].astype(x.dtype)
    return jnp.sum(x * mask, axis=1) / jnp.sum(mask, axis=1)


def naive_global_average_pooling_masked(x: jax.Array, lengths: jax.Array) -> jax.Array:
    return jnp.mean(x, axis=1)
