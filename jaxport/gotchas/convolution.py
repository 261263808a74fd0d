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


def conv_same_stride(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel, strides=2, padding="SAME")


def naive_conv_same_stride(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel, strides=2, padding=1)


def conv_default_padding(images: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    return _conv(images, kernel, bias, padding="VALID")


def naive_conv_default_padding(images: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    return _conv(images, kernel, bias)


def conv1d_causal(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(x, kernel, padding="CAUSAL")


def naive_conv1d_causal(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(x, kernel, padding="SAME")


def conv1d_causal_dilated(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(x, kernel, padding="CAUSAL", kernel_dilation=2)


def naive_conv1d_causal_dilated(x: jax.Array, kernel: jax.Array) -> jax.Array:
    inputs = jnp.pad(x, ((0, 0), (kernel.shape[0] - 1, 0), (0, 0)))
    return _conv(inputs, kernel, padding="VALID", kernel_dilation=2)


def depthwise_kernel(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel.reshape(3, 3, 1, 6), feature_group_count=3)


def naive_depthwise_kernel(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel.transpose(0, 1, 3, 2).reshape(3, 3, 1, 6), feature_group_count=3)


def depthwise_conv1d(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(x, kernel.reshape(3, 1, 6), padding="VALID", feature_group_count=3)


def naive_depthwise_conv1d(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(x, kernel.transpose(0, 2, 1).reshape(3, 1, 6), padding="VALID", feature_group_count=3)


def separable_conv_stride(images: jax.Array, depthwise: jax.Array, pointwise: jax.Array) -> jax.Array:
    return _conv(_conv(images, depthwise.reshape(3, 3, 1, 6), strides=2, feature_group_count=3), pointwise)


def naive_separable_conv_stride(images: jax.Array, depthwise: jax.Array, pointwise: jax.Array) -> jax.Array:
    return _conv(_conv(images, depthwise.reshape(3, 3, 1, 6), feature_group_count=3), pointwise, strides=2)


def conv2d_transpose_kernel(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv_transpose(images, kernel)


def naive_conv2d_transpose_kernel(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _swapped_conv_transpose(images, kernel)


def conv2d_transpose_padding(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv_transpose(images, kernel, padding="VALID")


def naive_conv2d_transpose_padding(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv_transpose(images, kernel)


def conv2d_transpose_output_padding(images: jax.Array, kernel: jax.Array) -> jax.Array:
    # (6 - 1) * 2 + 3 + output_padding, less the padding of 1 on both sides
    return convolution.conv_transpose(images, kernel, (11, 11), 2, ((1, 1), (1, 1)))


def naive_conv2d_transpose_output_padding(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv_transpose(images, kernel)


def conv2d_transpose_output_shape(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return convolution.conv_transpose(images, kernel, (11, 11), 2, "SAME")


def naive_conv2d_transpose_output_shape(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv_transpose(images, kernel)


def conv1d_transpose(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv_transpose(x, kernel)


def naive_conv1d_transpose(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _swapped_conv_transpose(x, kernel)


def conv3d_transpose(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv_transpose(x, kernel)


def naive_conv3d_transpose(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _swapped_conv_transpose(x, kernel)


def zero_padding_before_conv(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel, strides=2, padding=3)


def naive_zero_padding_before_conv(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel, strides=2, padding="SAME")


def conv_same_even_kernel(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(x[None, :, None], kernel[:, None, None], padding="SAME")[0, :, 0]


def naive_conv_same_even_kernel(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return jnp.correlate(x, kernel, mode="same")


def cropping_nothing_behind(x: jax.Array) -> jax.Array:
    before, after = 2, 0
    return x[:, before : x.shape[1] - after]


def naive_cropping_nothing_behind(x: jax.Array) -> jax.Array:
    before, after = 2, 0
    return x[:, before:-after]


def conv_same(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel)


def conv_groups(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel, feature_group_count=3)


def conv_dilation(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel, kernel_dilation=2)


def conv_explicit_padding(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel, strides=2, padding=((2, 1), (0, 3)))


def conv_padded_behind(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(images, kernel, strides=2, padding="SAME")


def conv3d(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _conv(x, kernel)
