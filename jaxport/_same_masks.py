"""Dropout and noise of Flax that draw the same numbers as those of the original."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport.noise import AlphaDropout, GaussianDropout, GaussianNoise
from workloads.protocol.same_masks import MULTIPLIERS, NORMAL_BITS, NORMAL_SPREAD, SHIFTS, TRUNCATED_SPREAD, threshold


class DroppingByPlace(nnx.Dropout):
    """A Dropout whose mask is a hash of the places of elements, not a random draw."""

    def __call__(self, inputs: jax.Array, *, deterministic: bool | None = None, rngs: Any = None) -> jax.Array:
        """Return the array with 0 for the elements that are dropped, and the others scaled up.

        Args:
          inputs: of floats.
          deterministic: whether nothing is dropped; None asks the attribute.
        """
        still = self.deterministic if deterministic is None else deterministic
        return inputs if still else drop_elements(inputs, self.rate, self.broadcast_dims)


def drop_elements(inputs: jax.Array, rate: float, broadcast_dims: Sequence[int]) -> jax.Array:
    """The array with 0 for the elements that are dropped, and the others scaled up.

    Args:
      inputs: of floats.
      rate: the share that is dropped.
    """
    if rate == 0:
        return inputs
    sizes = list(inputs.shape)
    for axis in broadcast_dims:
        sizes[axis] = 1
    is_kept = _keep_mask(sizes, rate)
    return jnp.where(is_kept, inputs * (1 / (1 - rate) if rate < 1 else 0), jnp.zeros_like(inputs))


def _uniform(shape: Sequence[int], dtype: Any) -> jax.Array:
    """Numbers in [0, 1)."""
    return (_hashes(shape) >> (32 - NORMAL_BITS)).astype(dtype) / 2**NORMAL_BITS


def _normal(self: Any, shape: Sequence[int], dtype: Any) -> jax.Array:
    """Numbers of mean 0 and variance 1, in place of those that a noise module draws."""
    return (_uniform(shape, dtype) - 0.5) * NORMAL_SPREAD


class NoiseByPlace(GaussianNoise):
    """A GaussianNoise that computes its noise from a hash of the places of elements."""

    _normal = _normal


class GaussianDroppingByPlace(GaussianDropout):
    """A GaussianDropout likewise."""

    _normal = _normal


class AlphaDroppingByPlace(AlphaDropout):
    """An AlphaDropout that sets what a hash of each place says."""

    def _keep_mask(self, shape: Sequence[int], rate: float) -> jax.Array:
        return _keep_mask(shape, rate)


class StreamByPlace(nnx.RngStream):
    """A stream of random numbers whose floats are hashes of places."""

    def uniform(
        self,
        shape: Sequence[int] = (),
        dtype: Any = float,
        minval: jax.Array | float = 0.0,
        maxval: jax.Array | float = 1.0,
    ) -> jax.Array:
        """f[shape]: numbers of a range.

        Args:
          dtype: of floats.
          maxval: the upper end, which is not reached.
        """
        return minval + (maxval - minval) * _uniform(shape, jax.dtypes.canonicalize_dtype(dtype))

    def normal(self, shape: Sequence[int] = (), dtype: Any = float) -> jax.Array:
        """f[shape]: of mean 0 and variance 1."""
        return _normal(self, shape, jax.dtypes.canonicalize_dtype(dtype))

    def truncated_normal(self, lower: float, upper: float, shape: Sequence[int] = (), dtype: Any = float) -> jax.Array:
        """f[shape]: of the mean and variance of a standard normal number between -2 and 2.

        Args:
          lower: -2.
          upper: 2.
          dtype: of floats.

        Raises:
          ValueError: the ends are not -2 and 2.
        """
        if (lower, upper) != (-2, 2):
            raise ValueError(f"expected ends -2 and 2, as TensorFlow has them, found {lower} and {upper}")
        return (_uniform(shape, jax.dtypes.canonicalize_dtype(dtype)) - 0.5) * TRUNCATED_SPREAD


_BY_PLACE: dict[type[nnx.Module], type[nnx.Module]] = {
    nnx.Dropout: DroppingByPlace,
    GaussianNoise: NoiseByPlace,
    GaussianDropout: GaussianDroppingByPlace,
    AlphaDropout: AlphaDroppingByPlace,
}

DRAWING_BY_PLACE = tuple(_BY_PLACE.values())


def drop_by_place(module: nnx.Module) -> None:
    """Make Dropout, noise and streams of a module draw by place, but no subclass that the user wrote."""
    for _, submodule in nnx.iter_modules(module):
        if type(submodule) in _BY_PLACE:
            submodule.__class__ = _BY_PLACE[type(submodule)]
    for _, node in nnx.iter_graph(module):
        if type(node) is nnx.RngStream:
            node.__class__ = StreamByPlace


def _hashes(shape: Sequence[int]) -> jax.Array:
    hashes = jnp.arange(1, math.prod(shape) + 1, dtype=jnp.uint32)
    for multiplier, shift in zip(MULTIPLIERS, SHIFTS, strict=True):
        hashes = hashes * jnp.uint32(multiplier)
        hashes = hashes ^ (hashes >> shift)
    return hashes.reshape(shape)


def _keep_mask(shape: Sequence[int], rate: float) -> jax.Array:
    return _hashes(shape) >= jnp.uint32(threshold(rate))
