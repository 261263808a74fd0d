"""Normalisations with TensorFlow's and Keras' own treatment of small norms, masks and running statistics."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxport._batch_norm import BatchNorm as BatchNorm
from jaxport._batch_norm import batch_normalised as batch_normalised
from jaxport.elementwise import maximum, minimum

_SMALL = 1e-7
"""keras.config.epsilon()."""


def l2_normalize(x: jax.Array, axis: int | tuple[int, ...] | None = None, epsilon: float = 1e-12) -> jax.Array:
    """Values over their norm, which is taken to be at least the root of epsilon, as by tf.math.l2_normalize.

    Args:
      x: floats of any shape.
      axis: or axes that make up one norm; None for all.
      epsilon: the least sum of squares.
    """
    return x * jax.lax.rsqrt(maximum(jnp.sum(x * x, axis, keepdims=True), epsilon))


def unit_normalize(x: jax.Array, axis: int | tuple[int, ...] | None = -1, epsilon: float = 1e-12) -> jax.Array:
    """Values over their norm, as keras.layers.UnitNormalization: zero stays zero, with a gradient of nan as in Keras.

    Args:
      x: floats of any shape.
      axis: or axes that make up one norm; None for all.
      epsilon: the least norm.
    """
    return x * minimum(jax.lax.rsqrt(jnp.sum(x * x, axis, keepdims=True)), 1 / epsilon)


def local_response_normalization(
    x: jax.Array, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> jax.Array:
    """tf.nn.local_response_normalization: x / (bias + alpha s) ** beta, s the sum of squares of the channels around.

    Neither the default radius nor the sum is that of the paper's formula as others write it: alpha is not divided by
    the number of channels.

    Args:
      x: floats [..., channels].
      depth_radius: channels to each side that are summed over.
      bias: is added, usually above 0.
      alpha: factor of the sum.
      beta: exponent.
    """
    window, edges = (*(1,) * (x.ndim - 1), 2 * depth_radius + 1), [(0, 0)] * (x.ndim - 1)
    zero = np.zeros((), x.dtype)  # known when traced: a sum that can be differentiated
    sums = jax.lax.reduce_window(
        x * x, zero, jax.lax.add, window, (1,) * x.ndim, [*edges, (depth_radius, depth_radius)]
    )
    return x * jnp.power(bias + alpha * sums, -beta)


def per_image_standardization(images: jax.Array) -> jax.Array:
    """Each image with mean 0 and deviation 1, as by tf.image.per_image_standardization.

    An image whose deviation is below one over the root of its number of values is divided by that instead.

    Args:
      images: floats [..., height, width, channels].
    """
    axes = (-3, -2, -1)
    count = images.shape[-3] * images.shape[-2] * images.shape[-1]
    deviation = jnp.std(images, axes, keepdims=True)
    return (images - jnp.mean(images, axes, keepdims=True)) / maximum(deviation, count**-0.5)


def fused_batch_norm(
    x: jax.Array,
    gamma: jax.Array,
    beta: jax.Array,
    moving: tuple[jax.Array, jax.Array],
    epsilon: float = 1e-3,
    factor: float = 1.0,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """tf.compat.v1.nn.fused_batch_norm in training: the values, and the moving mean and variance without gradients.

    The values are divided by the biased deviation; the variance that is kept is the unbiased one.

    Args:
      x: floats [..., features].
      gamma: [features].
      beta: [features].
      moving: mean and variance [features] so far.
      epsilon: is added to the variance.
      factor: the share of this batch in the moving statistics, one minus Keras' momentum.
    """
    result, *statistics = _normalise(x, gamma, beta, epsilon)
    count = x.size // x.shape[-1]
    mean, variance = jax.lax.stop_gradient((statistics[0], statistics[1] * (count / max(count - 1, 1))))
    old_mean, old_variance = moving
    return (
        result,
        old_mean * (1 - factor) + mean * factor,
        old_variance * (1 - factor) + variance * factor,
    )


def _normalise(x: jax.Array, gamma: jax.Array, beta: jax.Array, epsilon: float) -> Any:
    return batch_normalised(x, gamma, beta, epsilon)


def masked_moments(x: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean and variance [features] of the values that a mask keeps, as keras.layers.BatchNormalization takes them.

    Keras adds 1e-7 to the number of values that it divides by, and so differs from nnx.BatchNorm.

    Args:
      x: floats [..., features].
      mask: bool, of x's shape without the last axis.
    """
    axes, is_present = tuple(range(x.ndim - 1)), mask[..., None]
    count = jnp.sum(jnp.broadcast_to(is_present, x.shape).astype(x.dtype), axes) + _SMALL
    mean = jnp.sum(jnp.where(is_present, x, 0), axes) / count
    return mean, jnp.sum(jnp.square(jnp.where(is_present, x - mean, 0)), axes) / count


def masked_batch_norm(
    norm: nnx.BatchNorm, x: jax.Array, mask: jax.Array, use_running_average: bool | None = None
) -> jax.Array:
    """keras.layers.BatchNormalization with a mask [...]: normalizes all values by the statistics of kept ones.

    In training the statistics are `masked_moments`, and the running ones move towards them.

    Args:
      norm: the normalization with the weights and statistics, over the last axis.
      x: floats [..., features].
      mask: bool[...], True is kept.
      use_running_average: whether the running statistics are used; None asks the module.
    """
    is_still = norm.use_running_average if use_running_average is None else use_running_average
    wide = x.astype(norm.mean[...].dtype)
    mean, variance = (norm.mean[...], norm.var[...]) if is_still else masked_moments(wide, mask)
    if not is_still:
        for running, value in ((norm.mean, mean), (norm.var, variance)):
            share = (1 - norm.momentum) * jax.lax.stop_gradient(value)
            running.set_value(norm.momentum * running[...] + share)
    scale = jax.lax.rsqrt(variance + norm.epsilon) * (1 if norm.scale is None else norm.scale[...])
    result = (wide - mean) * scale + (0 if norm.bias is None else norm.bias[...])
    return result.astype(norm.dtype or x.dtype)
