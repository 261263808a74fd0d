"""The functions under jax.jit: one program, whatever is in the middle."""

import jax
import jax.numpy as jnp


def print_in_the_middle(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x @ x / 256.0) * x + 1.0
    jax.debug.print("largest {}", y.max())
    return jax.nn.softmax(jnp.tanh(y) * 2.0 + y)


def unique_in_the_middle(x: jax.Array) -> jax.Array:
    y = (jnp.tanh(x) * 10.0 + 1.0).astype(jnp.int32)
    different = jnp.unique(y, size=y.size, fill_value=y.min())
    return jax.nn.softmax(x * 2.0 + different.max().astype(x.dtype) * x)


def loop_over_a_tensor(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 8, lambda _, y: y * x + 0.5, x)


def bias_after_a_product(x: jax.Array) -> jax.Array:
    y = jax.nn.relu(jnp.tanh(x * 2.0) @ x + x[0])
    return jax.nn.softmax(y * 2.0 + x)


def too_few_operations(x: jax.Array) -> jax.Array:
    return jnp.tanh(x) * x + 0.5
