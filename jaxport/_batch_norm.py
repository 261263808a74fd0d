"""Batch norm as Keras computes it, with the gradient written out: two sums and one pass over the values."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx


class BatchNorm(nnx.Module):
    """Normalises over all axes but the last; the moving statistics are BatchStat, updated by a call in training.

    Computes in the type of its parameters, as Keras does, and hands out `dtype`.
    """

    def __init__(self, features: int, momentum: float, epsilon: float, dtype: Any, param_dtype: Any) -> None:
        self.gamma = nnx.Param(jnp.ones(features, param_dtype))
        self.beta = nnx.Param(jnp.zeros(features, param_dtype))
        self.mean = nnx.BatchStat(jnp.zeros(features, param_dtype))
        self.variance = nnx.BatchStat(jnp.ones(features, param_dtype))
        self.dtype = dtype
        self.momentum = momentum
        self.epsilon = epsilon

    def __call__(self, x: jax.Array, training: bool) -> jax.Array:
        """The normalised values [..., features], in `dtype`.

        Args:
          x: [..., features].
          training: whether to normalise by x's own statistics and move the kept ones.
        """
        gamma, beta = self.gamma.get_value(), self.beta.get_value()
        moving = self.mean.get_value(), self.variance.get_value()
        x = x.astype(gamma.dtype)
        if not training:
            return _shift(x, gamma, beta, *moving, self.epsilon).astype(self.dtype)
        outputs: Any = batch_normalised(x, gamma, beta, self.epsilon)
        result, *statistics = outputs
        mean, variance = _move(self.momentum, moving, jax.lax.stop_gradient(tuple(statistics)))
        self.mean.set_value(mean)
        self.variance.set_value(variance)
        return result.astype(self.dtype)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def batch_normalised(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, epsilon: float
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The normalised values [..., features], and the statistics that they are normalised by: mean and variance.

    No gradient flows through the statistics [features] that are returned: they are kept, not trained on.

    Args:
      x: [..., features].
      gamma: [features].
      beta: [features].
    """
    return _forward(x, gamma, beta, epsilon)[0]


@partial(jax.jit, static_argnums=3)
def _forward(x: jax.Array, gamma: jax.Array, beta: jax.Array, epsilon: float) -> tuple[Any, Any]:
    axes = tuple(range(x.ndim - 1))
    mean = x.mean(axes)
    variance = jnp.square(x - mean).mean(axes)
    result = _shift(x, gamma, beta, mean, variance, epsilon)
    return (result, mean, variance), (x, gamma, mean, variance)


@partial(jax.jit, static_argnums=0)
def _backward(epsilon: float, residuals: Any, cotangents: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    x, gamma, mean, variance = residuals
    cotangent = cotangents[0]
    axes = tuple(range(x.ndim - 1))
    inverse = jax.lax.rsqrt(variance + epsilon)
    normal = (x - mean) * inverse
    by_beta = cotangent.sum(axes)
    by_gamma = (cotangent * normal).sum(axes)
    share = x.shape[-1] / x.size
    by_x = gamma * inverse * (cotangent - share * by_beta - normal * (share * by_gamma))
    return by_x, by_gamma, by_beta


batch_normalised.defvjp(_forward, _backward)


@partial(jax.jit, static_argnums=0)
def _move(momentum: float, moving: tuple[jax.Array, ...], new: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    return tuple(old * momentum + value * (1 - momentum) for old, value in zip(moving, new, strict=True))


@partial(jax.jit, static_argnums=5)
def _shift(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array, epsilon: float
) -> jax.Array:
    scale = gamma * jax.lax.rsqrt(variance + epsilon)
    return x * scale + (beta - mean * scale)
