"""Fake quantization, as in tf.quantization: values are rounded to a few levels, gradients pass through."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike


@partial(jax.custom_jvp, nondiff_argnums=(3, 4))
def fake_quantize(
    x: jax.Array, low: ArrayLike, high: ArrayLike, num_bits: int = 8, narrow_range: bool = False
) -> jax.Array:
    """The nearest of 2**num_bits levels between low and high, which are moved so that zero is a level.

    The gradient goes to x within the range, to low below it and to high above it, as in
    tf.quantization.fake_quant_with_min_max_vars.

    Args:
      x: f32[..., channels].
      low: the least value, f32[] or f32[channels].
      high: the largest value, likewise.
      num_bits: the number of bits, from 2 to 16.
      narrow_range: whether the lowest level is left out.
    """
    least, most, step = _moved_range(low, high, num_bits, narrow_range)
    offset = jnp.minimum(jnp.maximum(x, least), most) - least
    levels = jnp.floor(offset / jnp.where(step == 0, 1, step) + 0.5) * step + least
    return jnp.where(_is_empty(low, high), 0, levels).astype(jnp.result_type(x))


@fake_quantize.defjvp
def _fake_quantize_jvp(num_bits: int, narrow_range: bool, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    x, low, high = primals
    of_x, of_low, of_high = tangents
    below, above, inside = _parts(x, low, high, num_bits, narrow_range)
    tangent = jnp.where(inside, of_x, jnp.where(below, of_low, jnp.where(above, of_high, 0)))
    return fake_quantize(x, low, high, num_bits, narrow_range), tangent


def fake_quantize_gradient(
    gradient: jax.Array,
    x: jax.Array,
    low: ArrayLike,
    high: ArrayLike,
    num_bits: int = 8,
    narrow_range: bool = False,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The gradients of `fake_quantize` with respect to x, low and high.

    Args:
      gradient: with respect to its result, f32[..., channels].
      x: as `fake_quantize` takes it.
      low: likewise.
      high: likewise.
      num_bits: likewise.
      narrow_range: likewise.
    """
    below, above, inside = _parts(x, low, high, num_bits, narrow_range)
    axes = tuple(range(x.ndim - jnp.ndim(low)))
    at_ends = (jnp.sum(jnp.where(part, gradient, 0), axes) for part in (below, above))
    of_low, of_high = at_ends
    return jnp.where(inside, gradient, 0), of_low, of_high


def _parts(
    x: jax.Array, low: ArrayLike, high: ArrayLike, num_bits: int, narrow_range: bool
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Masks of the values below, above and within the range."""
    least, most, _ = _moved_range(low, high, num_bits, narrow_range)
    empty = _is_empty(low, high)
    return (x < least) & ~empty, (x > most) & ~empty, ((x >= least) & (x <= most)) | empty


def _moved_range(
    low: ArrayLike, high: ArrayLike, num_bits: int, narrow_range: bool
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The range that is moved until zero is a level, and the distance of two levels."""
    first, last = float(narrow_range), float(2**num_bits - 1)
    low, high = jnp.asarray(low), jnp.asarray(high)
    step = (high - low) / (last - first)
    zero = first - low / jnp.where(step == 0, 1, step)
    below = jnp.floor(zero)
    # Halves are rounded up. Adding a half first would round what is just below one up too.
    zero = jnp.clip(below + (zero - below >= 0.5), first, last)
    return (first - zero) * step, (last - zero) * step, step


def _is_empty(low: ArrayLike, high: ArrayLike) -> jax.Array:
    """Whether both ends are zero: TensorFlow then gives zeros, and hands gradients on."""
    return (jnp.asarray(low) == 0) & (jnp.asarray(high) == 0)
