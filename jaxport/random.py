"""TensorFlow's random numbers in JAX, bit by bit: Philox, and what is made of its bits.

XLA and TensorFlow's own kernels draw the same bits and make other numbers of them. These are XLA's, as of a function
with jit_compile=True, unless a function says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_SCRAMBLING_KEY = (0x3EC8F720, 0x02461E29)
"""TensorFlow's key: it mixes seeds by one block of Philox."""
_LEAST = 1e-7
"""Below it no uniform number enters a logarithm."""


def philox(key: jax.Array, counter: jax.Array) -> jax.Array:
    """One block of Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").

    Args:
      key: u32[..., 2].
      counter: u32[..., 4].

    Returns:
      u32[..., 4].
    """
    c0, c1, c2, c3 = jnp.moveaxis(counter, -1, 0)
    k0, k1 = jnp.moveaxis(key, -1, 0)
    for _ in range(_ROUNDS):
        (high_0, low_0), (high_1, low_1) = _product(_MULTIPLIERS[0], c0), _product(_MULTIPLIERS[1], c2)
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0
        k0, k1 = k0 + jnp.uint32(_WEYL[0]), k1 + jnp.uint32(_WEYL[1])
    return jnp.stack(jnp.broadcast_arrays(c0, c1, c2, c3), -1)


def bits(seed: Any, shape: Sequence[int]) -> jax.Array:
    """The bits that tf.random.stateless_uniform draws: u32 of a shape.

    Args:
      seed: two integers, as the stateless functions of tf.random take them.
      shape: the shape of the result.
    """
    seed = jnp.asarray(seed, jnp.int32)
    words, signs = (half.astype(jnp.uint32) for half in (seed, seed >> 31))
    scramble = philox(jnp.asarray(_SCRAMBLING_KEY, jnp.uint32), jnp.stack([words[0], signs[0], words[1], signs[1]]))
    size = math.prod(shape)
    blocks = jnp.arange(-(-size // 4), dtype=jnp.uint32)
    zeros = jnp.zeros_like(blocks)
    counters = jnp.stack([blocks, zeros, zeros + scramble[2], zeros + scramble[3]], -1)
    return philox(scramble[:2], counters).ravel()[:size].reshape(shape)


def uniform(
    seed: Any, shape: Sequence[int], minval: float = 0.0, maxval: float = 1.0, kernels: bool = False
) -> jax.Array:
    """tf.random.stateless_uniform: f32 in [minval, maxval).

    Args:
      seed: two integers.
      shape: the shape of the result.
      minval: the least value.
      maxval: an upper bound.
      kernels: whether the numbers of TensorFlow's own kernels are wanted, which take the lowest 23 bits; XLA takes the
        highest.
    """
    draws = bits(seed, shape)
    mantissa = draws & jnp.uint32(0x7FFFFF) if kernels else draws >> 9
    return mantissa.astype(jnp.float32) * 2.0**-23 * (maxval - minval) + minval


def integers(seed: Any, shape: Sequence[int], minval: int, maxval: int) -> jax.Array:
    """tf.random.stateless_uniform with dtype int32: in [minval, maxval).

    Args:
      seed: two integers.
      shape: the shape of the result.
      minval: the least value.
      maxval: an upper bound.
    """
    return minval + (bits(seed, shape) % jnp.uint32(maxval - minval)).astype(jnp.int32)


def normal(seed: Any, shape: Sequence[int], kernels: bool = False) -> jax.Array:
    """tf.random.stateless_normal: standard normal f32, by Box and Muller.

    XLA pairs draws along the first even axis, or, padded, along the largest; TensorFlow's own kernels pair neighbours.

    Args:
      seed: two integers.
      shape: the shape of the result.
      kernels: whether the numbers of TensorFlow's own kernels are wanted, as for `uniform`.
    """
    size = math.prod(shape)
    sizes = [size] if kernels else [*shape] or [1]
    axis = next((place for place, length in enumerate(sizes) if length % 2 == 0), sizes.index(max(sizes)))
    pairs = -(-sizes[axis] // 2)
    draws = uniform(seed, (*sizes[:axis], pairs, 2, *sizes[axis + 1 :]), kernels=kernels)
    first, second = jnp.moveaxis(draws, axis + 1, 0)
    radius = jnp.sqrt(-2 * jnp.log(jnp.maximum(first, _LEAST)))
    angle = jnp.float32(2 * math.pi) * second
    both = jnp.stack([jnp.sin(angle) * radius, jnp.cos(angle) * radius], axis + 1)
    both = both.reshape(*sizes[:axis], 2 * pairs, *sizes[axis + 1 :])
    return jax.lax.slice_in_dim(both, 0, sizes[axis], axis=axis).reshape(shape)


def truncated_normal(seed: Any, shape: Sequence[int]) -> jax.Array:
    """tf.random.stateless_truncated_normal: standard normal f32 within two deviations, by the inverse of its cdf.

    TensorFlow's own kernels draw again instead, which is another sequence.

    Args:
      seed: two integers.
      shape: the shape of the result.
    """
    root = jnp.float32(math.sqrt(2))
    low, high = ((1 + jax.lax.erf(jnp.float32(end) / root)) / 2 for end in (-2.0, 2.0))
    tiny = float(jnp.finfo(jnp.float32).tiny)
    share = low + (high - low) * uniform(seed, shape, tiny, 1.0)
    return root * jax.lax.erf_inv(2 * share - 1)


def split(seed: Any, number: int = 2) -> jax.Array:
    """tf.random.split: int32[number, 2].

    Args:
      seed: two integers.
      number: the number of seeds.
    """
    return bits(seed, (number, 2)).astype(jnp.int32)


def fold_in(seed: Any, data: Any) -> jax.Array:
    """tf.random.fold_in: int32[2].

    Args:
      seed: two integers.
      data: an integer.
    """
    return jnp.stack([bits(seed, ()).astype(jnp.int32), jnp.asarray(data, jnp.int32)])


def dropout(values: jax.Array, rate: float, seed: Any, noise_shape: Sequence[int] | None = None) -> jax.Array:
    """keras.random.dropout, and keras.layers.Dropout where `seed` is what its generator holds: (its seed, its calls).

    Args:
      values: floats of any shape.
      rate: the share that is dropped, in [0, 1).
      seed: two integers.
      noise_shape: the shape of the draws, broadcast to that of `values`.
    """
    is_kept = uniform(seed, values.shape if noise_shape is None else noise_shape) >= rate
    return jnp.where(is_kept, values * (1 / (1 - rate)), jnp.zeros((), values.dtype))


def shuffle(values: jax.Array, seed: Any) -> jax.Array:
    """keras.random.shuffle along the first axis.

    Args:
      values: an array.
      seed: two integers.
    """
    return values[jnp.argsort(uniform(seed, values.shape[:1]))]


def _product(constant: int, value: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The upper and the lower 32 bits of a product, without 64-bit types, which JAX has only where they are enabled."""
    low, high = jnp.uint32(constant & 0xFFFF), jnp.uint32(constant >> 16)
    value_low, value_high = value & 0xFFFF, value >> 16
    middle = high * value_low + (low * value_low >> 16)
    carry = low * value_high + (middle & 0xFFFF)
    return high * value_high + (middle >> 16) + (carry >> 16), jnp.uint32(constant) * value
