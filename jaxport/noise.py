"""Noise layers of Keras as Flax NNX modules: each changes what it is given in training, and nothing in inference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from flax import nnx

_ALPHA, _SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
"""The constants of selu."""


class _Noise(nnx.Module):
    """A module that draws in training.

    Args:
      deterministic: whether the layer draws nothing; train() and eval() of a module set it.
      rngs: the random streams; the layer draws from "dropout".
    """

    def __init__(self, deterministic: bool, rngs: nnx.Rngs) -> None:
        self.deterministic = deterministic
        self.rngs = rngs["dropout"].fork()

    def _is_still(self, deterministic: bool | None) -> bool:
        return self.deterministic if deterministic is None else deterministic

    def _normal(self, shape: Sequence[int], dtype: jnp.dtype) -> jax.Array:
        return jax.random.normal(self.rngs(), shape, dtype)

    def _keep_mask(self, shape: Sequence[int], rate: float) -> jax.Array:
        return jax.random.bernoulli(self.rngs(), 1 - rate, shape)


class GaussianNoise(_Noise):
    """keras.layers.GaussianNoise: in training it adds normal numbers of mean 0.

    Args:
      stddev: the standard deviation of what is added.
      deterministic: whether nothing is drawn; train() and eval() set it.
      rngs: the random streams; the layer draws from "dropout".
    """

    def __init__(self, stddev: float, *, deterministic: bool = False, rngs: nnx.Rngs) -> None:
        super().__init__(deterministic, rngs)
        self.stddev = stddev

    def __call__(self, x: jax.Array, *, deterministic: bool | None = None) -> jax.Array:
        """f[...]: the values with noise added.

        Args:
          x: f[...].
          deterministic: whether nothing is drawn; None asks the attribute.
        """
        if self.stddev == 0 or self._is_still(deterministic):
            return x
        return x + self.stddev * self._normal(x.shape, x.dtype)


class GaussianDropout(_Noise):
    """keras.layers.GaussianDropout: in training it multiplies by normal numbers of mean 1.

    Args:
      rate: the standard deviation of the factors is sqrt(rate / (1 - rate)).
      deterministic: whether nothing is drawn; train() and eval() set it.
      rngs: the random streams; the layer draws from "dropout".
    """

    def __init__(self, rate: float, *, deterministic: bool = False, rngs: nnx.Rngs) -> None:
        super().__init__(deterministic, rngs)
        self.rate = rate

    def __call__(self, x: jax.Array, *, deterministic: bool | None = None) -> jax.Array:
        """f[...]: the values times their factors.

        Args:
          x: f[...].
          deterministic: whether nothing is drawn; None asks the attribute.
        """
        if self.rate == 0 or self._is_still(deterministic):
            return x
        return x * (1 + math.sqrt(self.rate / (1 - self.rate)) * self._normal(x.shape, x.dtype))


class AlphaDropout(_Noise):
    """keras.layers.AlphaDropout: in training it sets values to the lower end of selu, and keeps mean and variance.

    Klambauer et al. 2017, "Self-normalizing neural networks", https://arxiv.org/abs/1706.02515.

    Args:
      rate: the share of the values that are set.
      broadcast_dims: axes along which all places are set together.
      deterministic: whether nothing is drawn; train() and eval() set it.
      rngs: the random streams; the layer draws from "dropout".
    """

    def __init__(
        self, rate: float, *, broadcast_dims: Sequence[int] = (), deterministic: bool = False, rngs: nnx.Rngs
    ) -> None:
        super().__init__(deterministic, rngs)
        self.rate, self.broadcast_dims = rate, tuple(broadcast_dims)

    def __call__(self, x: jax.Array, *, deterministic: bool | None = None) -> jax.Array:
        """f[...]: the values, some of them set, shifted and scaled to the mean and variance that they had.

        Args:
          x: f[...].
          deterministic: whether nothing is drawn; None asks the attribute.
        """
        if self.rate == 0 or self._is_still(deterministic):
            return x
        shape = [1 if axis in self.broadcast_dims else size for axis, size in enumerate(x.shape)]
        least = -_ALPHA * _SCALE
        scale = ((1 - self.rate) * (1 + self.rate * least**2)) ** -0.5
        return scale * jnp.where(self._keep_mask(shape, self.rate), x, least) - scale * least * self.rate
