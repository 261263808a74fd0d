"""Max pooling as a choice between neighbours, and pooling to a given size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike


def max_pool(images: jax.Array) -> jax.Array:
    """The largest of windows of 2 x 2: [batch, height, width, channels] -> [batch, height // 2, width // 2, channels].

    The transpose of a choice is a choice again, which fuses with what stands around it. `nnx.max_pool` is a
    reduction of windows, whose gradient is a select-and-scatter: slow on CPU, and fused with nothing.
    Where values tie the first of a row, then the upper row is chosen, as TensorFlow's MaxPoolGrad does.
    """
    _, height, width, _ = images.shape
    return _of_four(images[:, : height // 2 * 2, : width // 2 * 2])


@jax.custom_vjp
def _of_four(images: jax.Array) -> jax.Array:
    # Which value was chosen is kept for the gradient as a number, here and below: compared anew inside another fusion,
    # values that tie need not tie; and what is compared would be computed or read a second time.
    return _four_forward(images)[0]


def _four_forward(images: jax.Array) -> tuple[jax.Array, jax.Array]:
    batch, height, width, channels = images.shape
    windows = images.reshape(batch, height // 2, 2, width // 2, 2, channels)
    left, right = windows[:, :, :, :, 0], windows[:, :, :, :, 1]
    columns = jnp.where(_is_first(left, right), jnp.uint8(0), jnp.uint8(1))
    upper, lower = jnp.moveaxis(_larger(left, right), 2, 0)
    choices = jnp.where(_is_first(upper, lower), columns[:, :, 0], 2 + columns[:, :, 1])
    return _larger(upper, lower), choices


def _four_backward(choices: jax.Array, cotangent: jax.Array) -> tuple[jax.Array]:
    batch, height, width, channels = choices.shape
    places = jnp.arange(4, dtype=jnp.uint8).reshape(2, 1, 2, 1)
    spread = jnp.where(choices[:, :, None, :, None] == places, cotangent[:, :, None, :, None], 0)
    return (spread.reshape(batch, 2 * height, 2 * width, channels),)


_of_four.defvjp(_four_forward, _four_backward)


@jax.custom_vjp
def overlapping_max_pool(images: jax.Array) -> jax.Array:
    """The largest of windows of 3 x 3: [batch, height, width, channels] -> [batch, height // 2, width // 2, channels].

    Stride 2 over an even height and width, padded at the end. Choices as in `max_pool`, ties alike.
    """
    return _overlapping_forward(images)[0]


def _overlapping_forward(images: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    across, columns = _of_three(images, 2)
    maxima, rows = _of_three(across, 1)
    return maxima, (columns, rows)


def _overlapping_backward(choices: tuple[jax.Array, jax.Array], cotangent: jax.Array) -> tuple[jax.Array]:
    columns, rows = choices
    return (_to_three(_to_three(cotangent, rows, 1), columns, 2),)


overlapping_max_pool.defvjp(_overlapping_forward, _overlapping_backward)


def _of_three(images: jax.Array, axis: int) -> tuple[jax.Array, jax.Array]:
    """The largest of every even place, the odd one after it and the next even one; and which of them it is."""
    shape = images.shape
    even, odd = jnp.moveaxis(images.reshape(*shape[:axis], -1, 2, *shape[axis + 1 :]), axis + 1, 0)
    beyond = jnp.full_like(jax.lax.slice_in_dim(even, 0, 1, axis=axis), -jnp.inf)
    following = jnp.concatenate([jax.lax.slice_in_dim(even, 1, None, axis=axis), beyond], axis)
    larger = _larger(even, odd)
    choices = jnp.where(larger >= following, jnp.where(even >= odd, jnp.uint8(0), jnp.uint8(1)), jnp.uint8(2))
    return _larger(larger, following), choices


def _to_three(cotangent: jax.Array, choices: jax.Array, axis: int) -> jax.Array:
    """The transpose of `_of_three`."""
    to_even, to_odd, to_following = (jnp.where(choices == place, cotangent, 0) for place in range(3))
    none = jnp.zeros_like(jax.lax.slice_in_dim(cotangent, 0, 1, axis=axis))
    from_before = jnp.concatenate([none, jax.lax.slice_in_dim(to_following, 0, -1, axis=axis)], axis)
    pairs = jnp.stack([to_even + from_before, to_odd], axis + 1)
    shape = cotangent.shape
    return pairs.reshape(*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])


def _larger(first: jax.Array, second: jax.Array) -> jax.Array:
    return jnp.where(_is_first(first, second), first, second)


def _is_first(first: jax.Array, second: jax.Array) -> jax.Array:
    # Its own inequality keeps a NaN that stands first; no number is less than a NaN that stands second.
    return (first >= second) | (first != first)


def adaptive_average_pool(x: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """Means of windows that cover every axis evenly: keras.layers.AdaptiveAveragePooling1D, 2D and 3D.

    Along an axis of n places, window i of m is from floor(i n / m) to ceil((i + 1) n / m): windows overlap where n is
    no multiple of m.

    Args:
      x: [batch, ..., channels].
      sizes: the number of windows along each axis between.

    Returns:
      [batch, *sizes, channels].
    """
    return _adaptive(x, sizes, jnp.mean)


def adaptive_max_pool(x: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """Maxima of windows that cover every axis evenly: keras.layers.AdaptiveMaxPooling1D, 2D and 3D.

    The windows are those of `adaptive_average_pool`. Of values that tie along an axis the first gets the gradient.

    Args:
      x: [batch, ..., channels].
      sizes: the number of windows along each axis between.

    Returns:
      [batch, *sizes, channels].
    """
    return _adaptive(x, sizes, _first_largest)


def _adaptive(x: jax.Array, sizes: Sequence[int], reduce: Callable[..., jax.Array]) -> jax.Array:
    if len(sizes) != x.ndim - 2:
        raise ValueError(f"expected a size for each of {x.ndim - 2} axes, found {tuple(sizes)}")
    for axis, windows in enumerate(sizes, 1):
        places = x.shape[axis]
        # the ceiling by whole numbers
        bounds = [(window * places // windows, -(-(window + 1) * places // windows)) for window in range(windows)]
        x = jnp.stack([reduce(jax.lax.slice_in_dim(x, *ends, axis=axis), axis=axis) for ends in bounds], axis)
    return x


def _first_largest(x: jax.Array, axis: int) -> jax.Array:
    places = jnp.argmax(x, axis, keepdims=True)
    return jnp.take_along_axis(x, places, axis).squeeze(axis)


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
      dtype: the dtype of the places.
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
