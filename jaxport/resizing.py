"""Images resized, cropped and cut into patches as TensorFlow does it, where jax.image does something else."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

_KEYS = -0.5
"""The free coefficient of the cubic kernel (Keys, 1981) with half-pixel centers."""
_CUBIC_STEPS = 1024
"""TensorFlow has a table of the cubic kernel at so many places between two pixels."""


def resize_bilinear(images: jax.Array, sizes: tuple[int, int], align_corners: bool = False) -> jax.Array:
    """tf.compat.v1.image.resize_bilinear: pixel i of the result is at i * scale, not at (i + 1/2) * scale - 1/2.

    TensorFlow 2's tf.image.resize is jax.image.resize with antialias=False.

    Args:
      images: [batch, height, width, channels].
      sizes: height and width of the result.
      align_corners: whether the last pixels of both are at the same place.

    Returns:
      [batch, *sizes, channels].
    """
    for axis, size in enumerate(sizes, 1):
        places = _corner_places(images.shape[axis], size, align_corners)
        images = _linear(images, places, axis)
    return images


def resize_nearest(images: jax.Array, sizes: tuple[int, int], align_corners: bool = False) -> jax.Array:
    """tf.compat.v1.image.resize_nearest_neighbor: pixel i is that at floor(i * scale); corners aligned, the nearest.

    TensorFlow 2's tf.image.resize is jax.image.resize with "nearest".

    Args:
      images: [batch, height, width, channels].
      sizes: height and width of the result.
      align_corners: whether the last pixels of both are at the same place.

    Returns:
      [batch, *sizes, channels].
    """
    for axis, size in enumerate(sizes, 1):
        places = _corner_places(images.shape[axis], size, align_corners)
        # halves go up here, not to the even pixel
        nearest = np.floor(places + 0.5) if align_corners else np.floor(places)
        images = jnp.take(images, nearest.astype(np.int32), axis=axis, mode="clip")
    return images


def resize_bicubic(images: jax.Array, sizes: tuple[int, int]) -> jax.Array:
    """tf.image.resize with "bicubic" and antialias=False: jax.image.resize with its weights at steps of 1/1024.

    Args:
      images: [batch, height, width, channels].
      sizes: height and width of the result.

    Returns:
      [batch, *sizes, channels], of the images' type; TensorFlow's is always float32.
    """
    down, across = (_cubic_weights(images.shape[axis], size) for axis, size in enumerate(sizes, 1))
    rows = jnp.einsum("oh,bhwc->bowc", jnp.asarray(down, images.dtype), images)
    return jnp.einsum("ow,bhwc->bhoc", jnp.asarray(across, images.dtype), rows)


def crop_and_resize(
    images: jax.Array,
    boxes: jax.Array,
    box_indices: jax.Array,
    sizes: tuple[int, int],
    extrapolation_value: float = 0.0,
) -> jax.Array:
    """tf.image.crop_and_resize with "bilinear": the corners of a box are those of its crop, whatever the size.

    Args:
      images: [batch, height, width, channels].
      boxes: [n, 4]: y1, x1, y2, x2 as shares of the height and the width less one; beyond 0 to 1 they leave the image.
      box_indices: i32[n], the image of each box.
      sizes: height and width of the crops.
      extrapolation_value: the value where a crop leaves the image.

    Returns:
      [n, *sizes, channels].
    """
    _, height, width, _ = images.shape
    rows = jax.vmap(lambda box: _box_places(box[0], box[2], height, sizes[0]))(boxes)
    columns = jax.vmap(lambda box: _box_places(box[1], box[3], width, sizes[1]))(boxes)

    def crop(image: jax.Array, down: jax.Array, across: jax.Array) -> jax.Array:
        samples = _linear(_linear(image, down, 0), across, 1)
        inside = ((down >= 0) & (down <= height - 1))[:, None] & ((across >= 0) & (across <= width - 1))
        return jnp.where(inside[:, :, None], samples, extrapolation_value)

    return jax.vmap(crop)(images[box_indices], rows, columns)


def extract_patches(
    images: jax.Array,
    sizes: tuple[int, int],
    strides: tuple[int, int],
    padding: str | Sequence[tuple[int, int]] = "VALID",
    rates: tuple[int, int] = (1, 1),
) -> jax.Array:
    """tf.image.extract_patches: a patch's values row by row, the channels of a pixel side by side.

    jax.lax.conv_general_dilated_patches has all pixels of a channel side by side.

    Args:
      images: [batch, height, width, channels].
      sizes: height and width of a patch.
      strides: the steps from patch to patch.
      padding: "SAME", "VALID", or a pair an axis, in front and behind.
      rates: the steps from pixel to pixel in a patch.

    Returns:
      [batch, rows, columns, sizes[0] * sizes[1] * channels].
    """
    patches = jax.lax.conv_general_dilated_patches(
        images, sizes, strides, padding, rhs_dilation=rates, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    by_channel = patches.reshape(*patches.shape[:3], images.shape[3], sizes[0] * sizes[1])
    return jnp.swapaxes(by_channel, 3, 4).reshape(patches.shape)


def _corner_places(size: int, wanted_size: int, align_corners: bool) -> np.ndarray:
    scale = (size - 1) / (wanted_size - 1) if align_corners and wanted_size > 1 else size / wanted_size
    return np.arange(wanted_size) * scale


def _linear(x: jax.Array, places: jax.Array | np.ndarray, axis: int) -> jax.Array:
    """Values between two neighbours along an axis; beyond its ends those of the ends."""
    last = x.shape[axis] - 1
    before = jnp.floor(jnp.clip(places, 0, last))
    share = jnp.asarray(places - before, x.dtype)
    first = before.astype(jnp.int32)
    lower = jnp.take(x, first, axis=axis, mode="clip")
    upper = jnp.take(x, jnp.minimum(first + 1, last), axis=axis, mode="clip")
    shape = [1] * x.ndim
    shape[axis] = -1
    return lower + (upper - lower) * share.reshape(shape)


def _box_places(start: jax.Array, end: jax.Array, size: int, wanted_size: int) -> jax.Array:
    if wanted_size == 1:
        return (0.5 * (start + end) * (size - 1))[None]
    return start * (size - 1) + jnp.arange(wanted_size) * ((end - start) * (size - 1) / (wanted_size - 1))


def _cubic_weights(size: int, wanted_size: int) -> np.ndarray:
    """The share of every pixel in every wanted one: [wanted, size]."""
    places = (np.arange(wanted_size) + 0.5) * size / wanted_size - 0.5
    before = np.floor(places)
    offset = np.rint((places - before) * _CUBIC_STEPS) / _CUBIC_STEPS
    weights = np.zeros((wanted_size, size))
    for step, distance in ((-1, 1 + offset), (0, offset), (1, 1 - offset), (2, 2 - offset)):
        pixel = (before + step).astype(int)
        inside = (pixel >= 0) & (pixel < size)
        weights[np.flatnonzero(inside), pixel[inside]] = _cubic(distance)[inside]
    return weights / weights.sum(1, keepdims=True)


def _cubic(distance: np.ndarray) -> np.ndarray:
    near = ((_KEYS + 2) * distance - (_KEYS + 3)) * distance**2 + 1
    far = ((_KEYS * distance - 5 * _KEYS) * distance + 8 * _KEYS) * distance - 4 * _KEYS
    return np.where(distance <= 1, near, far)
