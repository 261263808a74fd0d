"""Depthwise convolution as shifted products, one for each place of the kernel."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp


@jax.custom_vjp
def depthwise(images: jax.Array, kernel: jax.Array) -> jax.Array:
    """images [batch, h, w, channels], kernel [size, size, channels, 1], size odd -> [batch, h, w, channels].

    Zeros stand around the images. XLA's convolution by groups takes 9 to 75 times as long on CPU, forward and for the
    images' gradient, and twice as long for the kernel's (maps of 16x16x48 to 4x4x192, kernels 3x3 and 5x5).
    """
    shifted = _shifted(images, kernel.shape[0])
    return sum((part * weights for part, weights in zip(shifted, _places(kernel), strict=True)), jnp.zeros_like(images))


def _places(kernel: jax.Array) -> Iterator[jax.Array]:
    """The weights [channels] of every place of the kernel, row by row."""
    size = kernel.shape[0]
    return (kernel[row, column, :, 0] for row in range(size) for column in range(size))


def _shifted(images: jax.Array, size: int) -> Iterator[jax.Array]:
    """What every place of a kernel meets: images, shifted by up to half a kernel each way."""
    _, height, width, _ = images.shape
    around = (size // 2, size // 2)
    padded = jnp.pad(images, ((0, 0), around, around, (0, 0)))
    for row in range(size):
        for column in range(size):
            yield padded[:, row : row + height, column : column + width]


def _forward(images: jax.Array, kernel: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return depthwise(images, kernel), (images, kernel)


def _backward(kept: tuple[jax.Array, jax.Array], cotangent: jax.Array) -> tuple[jax.Array, jax.Array]:
    images, kernel = kept

    # One image at a time stays in the cache for all places: a third of the time for a 7x7 kernel.
    def add(total: jax.Array, image_and_cotangent: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        image, wanted = (each[None] for each in image_and_cotangent)
        by_place = [(part * wanted).sum((0, 1, 2)) for part in _shifted(image, kernel.shape[0])]
        return total + jnp.stack(by_place).reshape(kernel.shape), None

    by_kernel, _ = jax.lax.scan(add, jnp.zeros_like(kernel), (images, cotangent))
    # The transpose of a correlation is the correlation with the kernel turned by half a turn.
    return depthwise(cotangent, kernel[::-1, ::-1]), by_kernel


depthwise.defvjp(_forward, _backward)
