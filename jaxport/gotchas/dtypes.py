"""Types in JAX."""

import jax
import jax.numpy as jnp
from flax import nnx


def cast_nan(x: jax.Array) -> jax.Array:
    return jnp.sqrt(x).astype(jnp.int32)


def naive_cast_nan(x: jax.Array) -> jax.Array:
    root = jnp.sqrt(x)
    return jnp.where(jnp.isnan(root), jnp.iinfo(jnp.int32).min, root.astype(jnp.int32))


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
