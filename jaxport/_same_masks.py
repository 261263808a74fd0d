"""Dropout of Flax that drops the same elements as that of the original."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from workloads._same_masks import MULTIPLIERS, SHIFTS, threshold


class DroppingByPlace(nnx.Dropout):
    """A Dropout that drops what a hash of its place says, and draws nothing."""

    def __call__(self, inputs: jax.Array, *, deterministic: bool | None = None, rngs: Any = None) -> jax.Array:
        """What is left of an array, scaled up.

        Args:
          inputs: of floats.
          deterministic: whether nothing is dropped; None asks the attribute.
          rngs: not used.
        """
        still = self.deterministic if deterministic is None else deterministic
        if still or self.rate == 0:
            return inputs
        sizes = list(inputs.shape)
        for axis in self.broadcast_dims:
            sizes[axis] = 1
        hashes = jnp.arange(1, math.prod(sizes) + 1, dtype=jnp.uint32)
        for multiplier, shift in zip(MULTIPLIERS, SHIFTS, strict=True):
            hashes = hashes * jnp.uint32(multiplier)
            hashes = hashes ^ (hashes >> shift)
        kept = (hashes >= jnp.uint32(threshold(self.rate))).reshape(sizes)
        return jnp.where(kept, inputs * (1 / (1 - self.rate) if self.rate < 1 else 0), jnp.zeros_like(inputs))


def drop_by_place(module: nnx.Module) -> None:
    """Let every Dropout of a module drop by place; a class of the user's own that is made of one stays what it is.

    Args:
      module: is changed.
    """
    for _, nested in nnx.iter_modules(module):
        if type(nested) is nnx.Dropout:
            nested.__class__ = DroppingByPlace
