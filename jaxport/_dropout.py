"""Dropout by draws that are an input of the workload."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from workloads import _dropout


def dropout(values: jax.Array, draws: jax.Array, rate: float) -> jax.Array:
    """Drop values whose draw (u8, of their shape or broadcast to it) is below the rate; scale up the others.

    Args:
      values: floats of any shape.
      draws: u8 of the values' shape, or broadcast to it.
      rate: the share that is dropped, in [0, 1).
    """
    is_kept = draws >= _dropout.threshold(rate)
    return jnp.where(is_kept, values * jnp.asarray(_dropout.scale(rate), values.dtype), jnp.zeros((), values.dtype))
