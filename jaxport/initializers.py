"""Keras's initial weights, drawn as TensorFlow draws them under XLA; each is a `kernel_init` for Flax."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from jaxport import random

Initializer = Callable[..., jax.Array]
"""(key, shape, dtype) -> weights. The key is ignored: Keras's seed decides."""

_TRUNCATION = 0.87962566103423978
"""The deviation of a normal distribution that is cut off at two deviations, over that of the whole one."""


def variance_scaling(
    seed: int,
    scale: float = 1.0,
    mode: Literal["fan_in", "fan_out", "fan_avg"] = "fan_in",
    distribution: Literal["truncated_normal", "untruncated_normal", "uniform"] = "truncated_normal",
) -> Initializer:
    """keras.initializers.VarianceScaling: GlorotUniform is (1, fan_avg, uniform), HeNormal (2, fan_in, truncated).

    Args:
      seed: the seed of the initializer in Keras.
      scale: the factor of the variance.
      mode: the divisor of the variance.
      distribution: the distribution of the weights.
    """

    def init(key: Any, shape: Sequence[int], dtype: Any = jnp.float32) -> jax.Array:
        fan_in, fan_out = _fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
        variance = scale / max(1.0, fan)
        if distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return random.uniform((seed, 0), shape, -limit, limit).astype(dtype)
        if distribution == "untruncated_normal":
            return (random.normal((seed, 0), shape) * math.sqrt(variance)).astype(dtype)
        return (random.truncated_normal((seed, 0), shape) * (math.sqrt(variance) / _TRUNCATION)).astype(dtype)

    return init


def glorot_uniform(seed: int) -> Initializer:
    """keras.initializers.GlorotUniform, Keras's default; that of Flax is lecun_normal.

    Args:
      seed: the seed of the initializer in Keras.
    """
    return variance_scaling(seed, 1.0, "fan_avg", "uniform")


def he_normal(seed: int) -> Initializer:
    """keras.initializers.HeNormal.

    Args:
      seed: the seed of the initializer in Keras.
    """
    return variance_scaling(seed, 2.0, "fan_in", "truncated_normal")


def random_uniform(seed: int, minval: float = -0.05, maxval: float = 0.05) -> Initializer:
    """keras.initializers.RandomUniform, the default of keras.layers.Embedding.

    Args:
      seed: the seed of the initializer in Keras.
      minval: the least weight.
      maxval: an upper bound.
    """
    return lambda key, shape, dtype=jnp.float32: random.uniform((seed, 0), shape, minval, maxval).astype(dtype)


def random_normal(seed: int, stddev: float = 0.05) -> Initializer:
    """keras.initializers.RandomNormal.

    Args:
      seed: the seed of the initializer in Keras.
      stddev: the standard deviation of the weights.
    """
    return lambda key, shape, dtype=jnp.float32: (random.normal((seed, 0), shape) * stddev).astype(dtype)


def truncated_normal(seed: int, stddev: float = 0.05) -> Initializer:
    """keras.initializers.TruncatedNormal: the deviation is that before the cut.

    Args:
      seed: the seed of the initializer in Keras.
      stddev: the standard deviation of the weights before truncation.
    """
    return lambda key, shape, dtype=jnp.float32: (random.truncated_normal((seed, 0), shape) * stddev).astype(dtype)


def _fans(shape: Sequence[int]) -> tuple[float, float]:
    if len(shape) < 2:
        size = math.prod(shape)
        return size, size
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field
