"""Pooling as a choice between neighbours."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def max_pool(images: jax.Array) -> jax.Array:
    """images [batch, height, width, channels] -> [batch, height // 2, width // 2, channels]: windows of 2 x 2.

    The transpose of a choice is a choice again, which fuses with what stands around it. `nnx.max_pool` is a
    reduction of windows, whose gradient is a select-and-scatter: slow on CPU, and fused with nothing.
    Where values tie the first of a row, then the upper row is chosen, as TensorFlow's MaxPoolGrad does.
    """
    batch, height, width, channels = images.shape
    whole = images[:, : height // 2 * 2, : width // 2 * 2]
    windows = whole.reshape(batch, height // 2, 2, width // 2, 2, channels)
    rows = _larger(windows[:, :, :, :, 0], windows[:, :, :, :, 1])
    return _larger(rows[:, :, 0], rows[:, :, 1])


def _larger(first: jax.Array, second: jax.Array) -> jax.Array:
    return jnp.where(first >= second, first, second)
