"""Learning rates that change from step to step, computed in the dtype of the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def warm_up(peak: float, steps: int, total: int) -> Callable[[jax.Array, Any], jax.Array]:
    """From 0 to the peak in `steps` steps, then down to 0 at step `total`, both in straight lines, as BERT's.

    Args:
      peak: the highest rate.
      steps: how many steps lead up to it.
      total: the step at which the rate is 0 again.
    """

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        time = step.astype(dtype)
        return peak * jnp.minimum(time / steps, 1 - time / total)

    return rate


def inverse_square_root(width: int, steps: int) -> Callable[[jax.Array, Any], jax.Array]:
    """Up in a straight line for `steps` steps, then down with the root of the step (Vaswani et al. 2017, 5.3)."""

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        time = (step + 1).astype(dtype)
        return width**-0.5 * jnp.minimum(jax.lax.rsqrt(time), time * steps**-1.5)

    return rate
