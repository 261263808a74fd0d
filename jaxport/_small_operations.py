"""Single operations and small blocks in JAX: the functions of workloads/_small_operations.py."""

import jax
import jax.numpy as jnp


def elementwise(x: jax.Array, y: jax.Array) -> jax.Array:
    """`tanh(x * y + x) * y - x`, x and y being [elements]: [elements]."""
    return jnp.tanh(x * y + x) * y - x


def reduction(x: jax.Array) -> jax.Array:
    """`mean(x * x)`, x being [elements]: []."""
    return jnp.mean(x * x)


def softmax(x: jax.Array) -> jax.Array:
    """Softmax over the last axis of x [rows, columns]: [rows, columns]."""
    return jax.nn.softmax(x)


def layer_norm(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    """Rows of mean 0 and variance 1, times gamma, plus beta: [rows, columns].

    Args:
      x: [rows, columns].
      gamma: [columns].
      beta: [columns].
    """
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-3) * gamma + beta


def matmul(x: jax.Array, kernel0: jax.Array) -> jax.Array:
    """`x @ kernel0`, both [side, side]: [side, side]."""
    return x @ kernel0


def convolution(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """A convolution that keeps the size, x [1, side, side, in] and kernel [3, 3, in, out]: [1, side, side, out]."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def dense(x: jax.Array, kernel0: jax.Array, bias0: jax.Array) -> jax.Array:
    """`relu(x @ kernel0 + bias0)`: [rows, out].

    Args:
      x: [rows, in].
      kernel0: [in, out].
      bias0: [out].
    """
    return jax.nn.relu(x @ kernel0 + bias0)


def mlp(x: jax.Array, *layers: jax.Array) -> jax.Array:
    """Dense layers over x [rows, in], of a kernel [in, out] and a bias [out] each: [rows, out]."""
    for kernel, bias in zip(layers[::2], layers[1::2], strict=True):
        x = dense(x, kernel, bias)
    return x
