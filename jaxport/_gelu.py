"""The exact gelu by erf."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def gelu(values: jax.Array, root_of_half: float = 0.5**0.5) -> jax.Array:
    """x/2 (1 + erf(x / sqrt 2)), of the values' shape and dtype.

    erf is one rational function on CPU; erfc, which jax.nn.gelu takes, is two and an exponential. 1 + erf cancels where
    x is negative: by roundings of float32 that nothing sees, and by percents in a narrower type.

    Args:
      values: floats of any shape.
      root_of_half: the square root of 1/2 as it is rounded in the formula.
    """
    wide = values.astype(jnp.promote_types(values.dtype, jnp.float32))
    return (0.5 * wide * (1 + jax.lax.erf(wide * root_of_half))).astype(values.dtype)
