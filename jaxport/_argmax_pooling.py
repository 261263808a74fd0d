"""Max pooling that tells where each largest value stands, as tf.nn.max_pool_with_argmax does."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike


def max_pool_with_argmax(
    images: jax.Array,
    window: tuple[int, int],
    strides: tuple[int, int],
    padding: str,
    dtype: DTypeLike = jnp.int32,
    include_batch: bool = False,
) -> tuple[jax.Array, jax.Array]:
    """The largest value of each window, and its place in the flattened image: [batch, height, width, channels] each.

    Where values tie, the first in the order of rows is chosen. The place counts in the image without its padding:
    `(row * width + column) * channels + channel`, and with `include_batch` `+ example * height * width * channels`.

    Args:
      images: [batch, height, width, channels].
      window: rows and columns of a window.
      strides: rows and columns between windows.
      padding: SAME or VALID.
      dtype: of the places.
      include_batch: whether places count through the whole batch.
    """
    batch, height, width, channels = images.shape
    rows, columns = (
        _places(size, *along, padding)
        for size, along in zip((height, width), zip(window, strides, strict=True), strict=True)
    )
    value, place, has_value = None, None, np.zeros((len(rows[0]), len(columns[0])), bool)
    for row in rows:
        for column in columns:
            inside = ((row >= 0) & (row < height))[:, None] & ((column >= 0) & (column < width))
            row_at, column_at = np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)
            candidate = images[:, row_at][:, :, column_at]
            index = row_at[:, None] * width + column_at
            if value is None or place is None:
                value, place, has_value = candidate, np.broadcast_to(index[:, :, None], candidate.shape), inside
                continue
            # What is no number is larger than nothing, as in TensorFlow's loop.
            better = inside[:, :, None] & ((candidate > value) | ~has_value[:, :, None])
            value, place = jnp.where(better, candidate, value), jnp.where(better, index[:, :, None], place)
            has_value = has_value | inside
    place = jnp.asarray(place).astype(dtype) * channels + jnp.arange(channels, dtype=dtype)
    if include_batch:
        place += jnp.arange(batch, dtype=dtype)[:, None, None, None] * (height * width * channels)
    return jnp.asarray(value), place


def _places(size: int, window: int, stride: int, padding: str) -> list[np.ndarray]:
    """For each place in a window, where it lies in the image, by window; outside of it where that is padded."""
    if padding == "VALID":
        count, before = (size - window) // stride + 1, 0
    else:
        count = -(-size // stride)
        before = max((count - 1) * stride + window - size, 0) // 2
    return [np.arange(count) * stride - before + offset for offset in range(window)]
