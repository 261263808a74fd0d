"""Casts and means of integers as TensorFlow has them."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np


def saturate_cast(x: jax.Array, dtype: jax.typing.DTypeLike) -> jax.Array:
    """tf.saturate_cast: what is beyond the integers of a type is the nearest of them; a cast of integers wraps.

    Args:
      x: integers or floats; NaN is cast as it is.
      dtype: an integer type.

    Raises:
      ValueError: the type is none of integers.
    """
    if not jnp.issubdtype(dtype, jnp.integer):
        raise ValueError(f"expected an integer type, found {np.dtype(dtype).name}")
    least, most = _bounds(dtype)
    if jnp.issubdtype(x.dtype, jnp.integer):
        own_least, own_most = _bounds(x.dtype)
        return jnp.clip(x, max(least, own_least), min(most, own_most)).astype(dtype)
    inside = jnp.where(x <= float(least), float(least), x).astype(dtype)
    return jnp.where(x >= float(most), jnp.array(most, dtype), inside)


def mean(x: jax.Array, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> jax.Array:
    """tf.reduce_mean: of integers an integer of the same type, rounded to zero.

    Integers of less than 32 bits are added up in 32; of wider ones the sum wraps, as XLA compiles TensorFlow's.

    Args:
      x: integers or floats.
      axis: one, several, or all.
      keepdims: whether the axes stay, of size 1.
    """
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return jnp.mean(x, axis, keepdims=keepdims)
    wide = x.dtype if jnp.iinfo(x.dtype).bits >= 32 else jnp.int32
    total = jnp.sum(x, axis, dtype=wide, keepdims=keepdims)
    return jax.lax.div(total, jnp.full_like(total, x.size // total.size)).astype(x.dtype)


def _bounds(dtype: jax.typing.DTypeLike) -> tuple[int, int]:
    info = jnp.iinfo(dtype)
    return int(info.min), int(info.max)
