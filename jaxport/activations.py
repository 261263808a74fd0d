"""Activations with TensorFlow's and Keras' defaults, and their gradients at kinks."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxport.elementwise import clip_by_value, maximum, minimum

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def leaky_relu(x: jax.Array, negative_slope: float = 0.2) -> jax.Array:
    """Values above zero, negative_slope times them elsewhere, as tf.nn.leaky_relu: its gradient at zero is the slope.

    Args:
      x: floats of any shape.
      negative_slope: 0.2 in tf.nn and keras.activations, 0.3 in keras.layers.LeakyReLU.
    """
    return jnp.where(x > 0, x, negative_slope * x)


def relu(
    x: jax.Array, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> jax.Array:
    """keras.layers.ReLU: x above the threshold, at most max_value, and negative_slope (x - threshold) below.

    Args:
      x: floats of any shape.
      negative_slope: below the threshold, measured from it: the function jumps there.
      max_value: the largest value; None for no such.
      threshold: x must be larger than it.
    """
    if negative_slope and max_value is None and not threshold:
        return leaky_relu(x, negative_slope)
    above = jnp.where(x > threshold, x, 0)
    if max_value is not None:
        above = jax.nn.relu6(x) if max_value == 6 and not threshold else clip_by_value(above, 0, max_value)
    return above - negative_slope * jax.nn.relu(threshold - x) if negative_slope else above


def selu(x: jax.Array) -> jax.Array:
    """Scaled exponential linear unit whose gradient at zero is the scale, as tf.nn.selu's when not compiled by XLA.

    Args:
      x: floats of any shape.
    """
    negative = jnp.where(x < 0, x, 0)
    return _SELU_SCALE * jnp.where(x < 0, _SELU_ALPHA * jnp.expm1(negative), x)


def celu(x: jax.Array, alpha: float = 1.0) -> jax.Array:
    """Continuous exponential linear unit whose gradient at zero is 2, as keras.activations.celu's.

    Keras adds two halves, each of which has all of its gradient there.

    Args:
      x: floats of any shape.
      alpha: minus the limit at minus infinity.
    """
    return maximum(x, 0) + alpha * jnp.expm1(minimum(x, 0) / alpha)


def masked_softmax(x: jax.Array, mask: jax.Array, axis: int | tuple[int, ...] = -1) -> jax.Array:
    """keras.layers.Softmax with a mask: 0 where masked, throughout where everything is.

    Args:
      x: floats of any shape.
      mask: bool, of a shape that broadcasts to x's; True is kept.
      axis: or axes over which the results add up to 1.
    """
    unlikely = jnp.asarray(-3e4 if x.dtype == jnp.float16 else -1e9, x.dtype)
    return jnp.where(mask, jax.nn.softmax(jnp.where(mask, x, unlikely), axis=axis), 0)
