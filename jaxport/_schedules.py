"""Learning rates that change from step to step, computed in the dtype of the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def warm_up(peak: float, steps: int, total: int) -> Callable[[jax.Array, Any], jax.Array]:
    """From 0 to the peak in `steps` steps, then down to 0 at step `total`, both in straight lines, as BERT's."""

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        time = step.astype(dtype)
        return peak * jnp.minimum(time / steps, 1 - time / total)

    return rate
