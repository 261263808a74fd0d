"""Convolutions that JAX lacks: transposed to a size that is asked for; depthwise as shifted products."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import jax
import jax.numpy as jnp

ROWS = 16
"""So many rows at least are added up at a time for the kernel's gradient. XLA's fusion on CPU computes the slice that a
scan takes anew in each of up to 15 places that read it, which are not vectorised then: 3 times slower with 8 rows."""


def conv_transpose(
    x: jax.Array,
    kernel: jax.Array,
    sizes: Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[tuple[int, int]],
) -> jax.Array:
    """The transpose of the convolution that makes x of an array of the given sizes: tf.nn.conv2d_transpose.

    Where strides are above 1 several sizes are convolved into one, and jax.lax.conv_transpose chooses for itself.

    Args:
      x: [batch, ..., inputs], with one to three axes between.
      kernel: [..., outputs, inputs], as TensorFlow and Keras hold it.
      sizes: the sizes of the result's axes between batch and outputs.
      strides: the strides of the convolution: one number, or one for each axis.
      padding: the padding of the convolution: "SAME", "VALID", or for each axis the pair before and after.

    Returns:
      [batch, *sizes, outputs].

    Raises:
      ValueError: the convolution of these sizes has another shape than x.
    """
    axes = "DHW"[-len(sizes) :]
    steps = (strides,) * len(sizes) if isinstance(strides, int) else tuple(strides)

    def forward(result: jax.Array) -> jax.Array:
        numbers = (f"N{axes}C", f"{axes}IO", f"N{axes}C")
        return jax.lax.conv_general_dilated(result, kernel, steps, padding, dimension_numbers=numbers)

    result = jax.ShapeDtypeStruct((x.shape[0], *sizes, kernel.shape[-2]), x.dtype)
    result_shape = jax.eval_shape(forward, result).shape
    if result_shape != x.shape:
        raise ValueError(
            f"expected sizes that a convolution makes {x.shape} of, found {tuple(sizes)}: makes {result_shape}"
        )
    return jax.linear_transpose(forward, result)(x)[0]


@jax.custom_vjp
def depthwise(images: jax.Array, kernel: jax.Array) -> jax.Array:
    """A convolution of every channel by a kernel of its own: [batch, h, w, channels].

    Zeros stand around the images. XLA's convolution by groups takes 9 to 75 times as long on CPU, forward and for the
    images' gradient, and twice as long for the kernel's (maps of 16x16x48 to 4x4x192, kernels 3x3 and 5x5).

    Args:
      images: [batch, h, w, channels].
      kernel: [size, size, channels, 1], size odd.
    """
    return shifted_products(images, kernel.shape[0], _places(kernel))


def shifted_products(images: jax.Array, size: int, places: Iterable[jax.Array]) -> jax.Array:
    """The sum over the kernel's positions of shifted images times the weights [channels] of the position.

    Args:
      images: [batch, h, w, channels].
      size: side of the kernel, odd.
      places: size * size arrays [channels], row by row.
    """
    products = (part * weights for part, weights in zip(shift_images(images, size), places, strict=True))
    return sum(products, jnp.zeros_like(images))


def _places(kernel: jax.Array) -> Iterator[jax.Array]:
    """The weights [channels] of every place of the kernel, row by row."""
    size = kernel.shape[0]
    return (kernel[row, column, :, 0] for row in range(size) for column in range(size))


def shift_images(images: jax.Array, size: int) -> Iterator[jax.Array]:
    """The images at each position of a kernel: shifted by up to half a kernel each way.

    Args:
      images: [batch, h, w, channels].
      size: side of the kernel, odd.
    """
    _, height, width, _ = images.shape
    padded_images = _pad(images, size)
    for row in range(size):
        for column in range(size):
            yield padded_images[:, row : row + height, column : column + width]


def _pad(images: jax.Array, size: int) -> jax.Array:
    around = (size // 2, size // 2)
    return jnp.pad(images, ((0, 0), around, around, (0, 0)))


def _forward(images: jax.Array, kernel: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return depthwise(images, kernel), (images, kernel)


def _backward(residuals: tuple[jax.Array, jax.Array], cotangent: jax.Array) -> tuple[jax.Array, jax.Array]:
    images, kernel = residuals
    by_kernel = _by_kernel(images, cotangent, kernel.shape[0])
    # The transpose of a correlation is the correlation with the kernel turned by half a turn.
    return depthwise(cotangent, kernel[::-1, ::-1]), by_kernel


@partial(jax.jit, static_argnums=2)  # one compilation for all calls, even where what calls it is not compiled
def _by_kernel(images: jax.Array, cotangent: jax.Array, size: int) -> jax.Array:
    """The kernel's gradient: few images at a time, which stay in the cache for all places, row by row of them."""
    count, height, width, channels = images.shape
    padded_images = _pad(images, size)
    together = next(
        number for number in range(1, count + 1) if count % number == 0 and number * height >= min(ROWS, count * height)
    )
    rows = [(image, row) for image in range(together) for row in range(height)]

    # Sliced by number: a reshape before the loop would be fused with what makes the cotangent, and so would its pad.
    def add(totals: jax.Array, first: jax.Array) -> tuple[jax.Array, None]:
        around, cotangents = (
            jax.lax.dynamic_slice_in_dim(array, first, together) for array in (padded_images, cotangent)
        )
        by_place = [
            sum(
                (around[image, row + down, right : right + width] * cotangents[image, row] for image, row in rows),
                jnp.zeros_like(cotangents[0, 0]),
            )
            for down in range(size)
            for right in range(size)
        ]
        return totals + jnp.stack(by_place), None

    start = jnp.zeros((size * size, width, channels), images.dtype)
    totals, _ = jax.lax.scan(add, start, jnp.arange(0, count, together))
    return totals.sum(1).reshape(size, size, channels, 1)


depthwise.defvjp(_forward, _backward)
