"""Types in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxport import dtypes


def truncatediv(x: jax.Array, y: jax.Array) -> jax.Array:
    return jax.lax.div(x, y)


def naive_truncatediv(x: jax.Array, y: jax.Array) -> jax.Array:
    return x // y


def truncatemod(x: jax.Array, y: jax.Array) -> jax.Array:
    return jax.lax.rem(x, y)


def naive_truncatemod(x: jax.Array, y: jax.Array) -> jax.Array:
    return x % y


def floormod_sign(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mod(x, y)


def naive_floormod_sign(x: jax.Array, y: jax.Array) -> jax.Array:
    return jax.lax.rem(x, y)


def floormod_by_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(y == 0, x, jnp.mod(x, jnp.where(y == 0, 1, y)))


def naive_floormod_by_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mod(x, y)


def integer_mean(x: jax.Array) -> jax.Array:
    return dtypes.mean(x, axis=-1)


def naive_integer_mean(x: jax.Array) -> jax.Array:
    return jnp.mean(x, axis=-1)


def byte_sum(x: jax.Array) -> jax.Array:
    return jnp.sum(x, axis=-1, dtype=x.dtype)


def naive_byte_sum(x: jax.Array) -> jax.Array:
    return jnp.sum(x, axis=-1)


def byte_mean(x: jax.Array) -> jax.Array:
    return dtypes.mean(x, axis=-1)


def naive_byte_mean(x: jax.Array) -> jax.Array:
    return jnp.sum(x, axis=-1, dtype=x.dtype) // x.shape[-1]


def byte_product(x: jax.Array) -> jax.Array:
    return jnp.prod(x, axis=-1, dtype=x.dtype)


def naive_byte_product(x: jax.Array) -> jax.Array:
    return jnp.prod(x, axis=-1)


def round_half_up(x: jax.Array) -> jax.Array:
    return jnp.round(x / 2)


def naive_round_half_up(x: jax.Array) -> jax.Array:
    return jnp.floor(x / 2 + 0.5)


def cast_to_byte(x: jax.Array) -> jax.Array:
    return x.astype(jnp.uint8)


def naive_cast_to_byte(x: jax.Array) -> jax.Array:
    return x.astype(jnp.int32).astype(jnp.uint8)


def cast_nan(x: jax.Array) -> jax.Array:
    return jnp.sqrt(x).astype(jnp.int32)


def naive_cast_nan(x: jax.Array) -> jax.Array:
    root = jnp.sqrt(x)
    return jnp.where(jnp.isnan(root), jnp.iinfo(jnp.int32).min, root.astype(jnp.int32))


def saturate_cast(x: jax.Array) -> jax.Array:
    return dtypes.saturate_cast(x, jnp.uint8)


def naive_saturate_cast(x: jax.Array) -> jax.Array:
    return x.astype(jnp.uint8)


def right_shift(x: jax.Array) -> jax.Array:
    return x >> 1


def naive_right_shift(x: jax.Array) -> jax.Array:
    return jax.lax.shift_right_logical(x, 1)


def population_count(x: jax.Array) -> jax.Array:
    return jax.lax.population_count(x).astype(jnp.uint8)


def naive_population_count(x: jax.Array) -> jax.Array:
    return jax.lax.population_count(x)


def bfloat16_by_numpy_scalar(x: jax.Array) -> jax.Array:
    return x / 8.0


def naive_bfloat16_by_numpy_scalar(x: jax.Array) -> jax.Array:
    return x / np.sqrt(64)


def bfloat16_mask_fill(x: jax.Array, mask: jax.Array) -> jax.Array:
    return jnp.where(mask, x, jnp.finfo(x.dtype).min)


def naive_bfloat16_mask_fill(x: jax.Array, mask: jax.Array) -> jax.Array:
    return jnp.where(mask, x, jnp.finfo(jnp.float32).min)


def bfloat16_matmul(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


def naive_bfloat16_matmul(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.matmul(x, y, preferred_element_type=jnp.float32)


def mixed_bfloat16(x: jax.Array, kernel: jax.Array) -> jax.Array:
    layer = nnx.Linear(8, 4, use_bias=False, dtype=jnp.bfloat16, rngs=nnx.Rngs(0))
    layer.kernel[...] = jax.lax.stop_gradient(kernel)
    return layer(jax.lax.stop_gradient(x))


def naive_mixed_bfloat16(x: jax.Array, kernel: jax.Array) -> jax.Array:
    layer = nnx.Linear(
        8, 4, use_bias=False, param_dtype=jnp.bfloat16, kernel_init=nnx.initializers.zeros, rngs=nnx.Rngs(0)
    )
    layer.kernel[...] = jax.lax.stop_gradient(kernel).astype(jnp.bfloat16)
    return layer(jax.lax.stop_gradient(x))


def floordiv(x: jax.Array, y: jax.Array) -> jax.Array:
    return x // y


def cast_to_integer(x: jax.Array) -> jax.Array:
    return x.astype(jnp.int32)


def integer_overflow(x: jax.Array) -> jax.Array:
    return x * 3


def byte_square(x: jax.Array) -> jax.Array:
    return jnp.square(x)


def byte_times_float(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float32) * (1 / 255)


def bfloat16_by_python_scalar(x: jax.Array) -> jax.Array:
    return x * 0.125
