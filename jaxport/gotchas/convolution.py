"""Convolutions and paddings in JAX."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import convolution


def _conv(x: jax.Array, kernel: jax.Array, bias: jax.Array | None = None, **options: Any) -> jax.Array:
    size, outputs = kernel.shape[:-2], kernel.shape[-1]
    layer = nnx.Conv(x.shape[-1], outputs, size, use_bias=bias is not None, rngs=nnx.Rngs(0), **options)
    layer.kernel[...] = kernel
    if layer.bias is not None:
        layer.bias[...] = bias
    return layer(x)


def _conv_transpose(x: jax.Array, kernel: jax.Array, **options: Any) -> jax.Array:
    """By a kernel [..., outputs, inputs], as Keras has it."""
    *size, outputs, inputs = kernel.shape
    layer = nnx.ConvTranspose(
        inputs, outputs, size, 2, transpose_kernel=True, use_bias=False, rngs=nnx.Rngs(0), **options
    )
    layer.kernel[...] = kernel
    return layer(x)


def _swapped_conv_transpose(x: jax.Array, kernel: jax.Array, **options: Any) -> jax.Array:
    *size, outputs, inputs = kernel.shape
    layer = nnx.ConvTranspose(inputs, outputs, size, 2, use_bias=False, rngs=nnx.Rngs(0), **options)
    layer.kernel[...] = jnp.swapaxes(kernel, -1, -2)
    return layer(x)


def conv1d_causal_dilated(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(x, kernel, padding="CAUSAL", kernel_dilation=2)


def naive_conv1d_causal_dilated(x: jax.Array, kernel: jax.Array) -> jax.Array:
    inputs = jnp.pad(x, ((0, 0), (kernel.shape[0] - 1, 0), (0, 0)))
    return _conv(inputs, kernel, padding="VALID", kernel_dilation=2)


def conv2d_transpose_output_padding(images: jax.Array, kernel: jax.Array) -> jax.Array:
    # (6 - 1) * 2 + 3 + output_padding, less the padding of 1 on both sides
    return convolution.conv_transpose(images, kernel, (11, 11), 2, ((1, 1), (1, 1)))


def naive_conv2d_transpose_output_padding(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv_transpose(images, kernel)


def cropping_nothing_behind(x: jax.Array) -> jax.Array:
    before, after = 2, 0
    return x[:, before : x.shape[1] - after]


def naive_cropping_nothing_behind(x: jax.Array) -> jax.Array:
    before, after = 2, 0
    return x[:, before:-after]
