"""Pooling in JAX."""

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import pooling


def avg_pool_same(images: jax.Array) -> jax.Array:
    return nnx.avg_pool(images, (3, 3), (2, 2), "SAME", count_include_pad=False)


def naive_avg_pool_same(images: jax.Array) -> jax.Array:
    return nnx.avg_pool(images, (3, 3), (2, 2), "SAME")


def max_pool_default_strides(images: jax.Array) -> jax.Array:
    return nnx.max_pool(images, (2, 2), (2, 2))


def naive_max_pool_default_strides(images: jax.Array) -> jax.Array:
    return nnx.max_pool(images, (2, 2))


def average_pooling1d(x: jax.Array) -> jax.Array:
    return nnx.avg_pool(x, (2,), (2,))


def naive_average_pooling1d(x: jax.Array) -> jax.Array:
    return nnx.avg_pool(x, (2,))


def max_pool_tie(images: jax.Array) -> jax.Array:
    return pooling.max_pool(images)


def naive_max_pool_tie(images: jax.Array) -> jax.Array:
    return jnp.max(images.reshape(2, 3, 2, 3, 2, 3), axis=(2, 4))


def max_pool_padding(images: jax.Array) -> jax.Array:
    return nnx.max_pool(jax.lax.stop_gradient(images), (2, 2), (2, 2), "SAME")


def naive_max_pool_padding(images: jax.Array) -> jax.Array:
    bordered_images = jnp.pad(jax.lax.stop_gradient(images), ((0, 0), (0, 1), (0, 1), (0, 0)))
    return nnx.max_pool(bordered_images, (2, 2), (2, 2))


def max_pool_channels_first(images: jax.Array) -> jax.Array:
    return jnp.moveaxis(nnx.max_pool(jnp.moveaxis(images, 1, -1), (2, 2), (2, 2)), -1, 1)


def naive_max_pool_channels_first(images: jax.Array) -> jax.Array:
    return nnx.max_pool(images, (2, 2), (2, 2))


def global_average_pooling(images: jax.Array) -> jax.Array:
    return jnp.mean(images, axis=(1, 2))


def naive_global_average_pooling(images: jax.Array) -> jax.Array:
    return nnx.avg_pool(images, images.shape[1:3])


def global_average_pooling_masked(x: jax.Array, lengths: jax.Array) -> jax.Array:
    mask = (jnp.arange(8) < lengths[:, None])[:, :, None].astype(x.dtype)
    return jnp.sum(x * mask, axis=1) / jnp.sum(mask, axis=1)


def naive_global_average_pooling_masked(x: jax.Array, lengths: jax.Array) -> jax.Array:
    return jnp.mean(x, axis=1)


def adaptive_average_pooling(images: jax.Array) -> jax.Array:
    return pooling.adaptive_average_pool(images, (3, 3))


def naive_adaptive_average_pooling(images: jax.Array) -> jax.Array:
    return nnx.avg_pool(images, (2, 2), (2, 2))


def adaptive_max_pooling(images: jax.Array) -> jax.Array:
    return pooling.adaptive_max_pool(images, (3, 3))


def naive_adaptive_max_pooling(images: jax.Array) -> jax.Array:
    return nnx.max_pool(images, (2, 2), (2, 2))


def max_pool_same(images: jax.Array) -> jax.Array:
    return nnx.max_pool(images, (3, 3), (2, 2), "SAME")


def max_pool_valid_odd(images: jax.Array) -> jax.Array:
    return nnx.max_pool(images, (2, 2), (2, 2))


def avg_pool_valid(images: jax.Array) -> jax.Array:
    return nnx.avg_pool(images, (3, 3), (2, 2))


def max_pool3d(x: jax.Array) -> jax.Array:
    return nnx.max_pool(x, (2, 2, 2), (2, 2, 2))


def global_max_pooling(x: jax.Array) -> jax.Array:
    return jnp.max(x, axis=1)
