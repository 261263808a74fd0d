"""Gradients at kinks in JAX."""

import jax
import jax.numpy as jnp


def maximum_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(x >= y, x, y)


def naive_maximum_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.maximum(x, y)


def minimum_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(x <= y, x, y)


def naive_minimum_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.minimum(x, y)


def clip_ends(x: jax.Array) -> jax.Array:
    return jnp.where((x >= -1) & (x <= 1), x, jax.lax.stop_gradient(jnp.clip(x, -1, 1)))


def naive_clip_ends(x: jax.Array) -> jax.Array:
    return jnp.clip(x, -1, 1)


def abs_at_zero(x: jax.Array) -> jax.Array:
    return x * jax.lax.stop_gradient(jnp.sign(x))


def naive_abs_at_zero(x: jax.Array) -> jax.Array:
    return jnp.abs(x)


def l1_loss_at_fit(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean(abs_at_zero(x - y), axis=-1)


def naive_l1_loss_at_fit(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean(jnp.abs(x - y), axis=-1)


def xlogy_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return x * jnp.where(x == 0, 0, jnp.log(jnp.where(x == 0, 1, y)))


def naive_xlogy_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return jax.scipy.special.xlogy(x, y)


def divide_no_nan(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(y == 0, 0, x / jnp.where(y == 0, 1, y))


def naive_divide_no_nan(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(y != 0, x / y, 0)


def reduce_max_tie(x: jax.Array) -> jax.Array:
    return jnp.max(x, axis=-1)


def sign(x: jax.Array) -> jax.Array:
    return jnp.sign(x)


def floor(x: jax.Array) -> jax.Array:
    return jnp.floor(x)


def sort(x: jax.Array) -> jax.Array:
    return jnp.sort(x)
