"""Gradients at kinks in JAX."""

import jax
import jax.numpy as jnp
import optax

from jaxport import elementwise


def maximum_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return elementwise.maximum(x, y)


def naive_maximum_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.maximum(x, y)


def minimum_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return elementwise.minimum(x, y)


def naive_minimum_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.minimum(x, y)


def clip_ends(x: jax.Array) -> jax.Array:
    return elementwise.clip_by_value(x, -1, 1)


def naive_clip_ends(x: jax.Array) -> jax.Array:
    return jnp.clip(x, -1, 1)


def abs_at_zero(x: jax.Array) -> jax.Array:
    return elementwise.absolute(x)


def naive_abs_at_zero(x: jax.Array) -> jax.Array:
    return jnp.abs(x)


def l1_loss_at_fit(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean(elementwise.absolute(x - y), axis=-1)


def naive_l1_loss_at_fit(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean(jnp.abs(x - y), axis=-1)


def xlogy_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return elementwise.xlogy(x, y)


def naive_xlogy_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return jax.scipy.special.xlogy(x, y)


def divide_no_nan(x: jax.Array, y: jax.Array) -> jax.Array:
    return elementwise.divide_no_nan(x, y)


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


def xlog1py_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return elementwise.xlog1py(x, y)


def naive_xlog1py_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return jax.scipy.special.xlog1py(x, y)


def multiply_no_nan(x: jax.Array, y: jax.Array) -> jax.Array:
    return elementwise.multiply_no_nan(x, y)


def naive_multiply_no_nan(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(y == 0, 0, x * y)


def power_of_negative(x: jax.Array, y: jax.Array) -> jax.Array:
    return elementwise.power(x, y)


def naive_power_of_negative(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.power(x, y)


def cumprod_at_zero(x: jax.Array) -> jax.Array:
    return elementwise.cumprod(x, 1)


def naive_cumprod_at_zero(x: jax.Array) -> jax.Array:
    return jnp.cumprod(x, axis=1)


def clip_by_norm_at_zero(x: jax.Array) -> jax.Array:
    return elementwise.clip_by_norm(x, 2.0)


def naive_clip_by_norm_at_zero(x: jax.Array) -> jax.Array:
    return x * jnp.minimum(1, 2 / jnp.linalg.norm(x))


def l1_norm_at_zero(x: jax.Array) -> jax.Array:
    return jnp.sum(elementwise.absolute(x), axis=-1)


def naive_l1_norm_at_zero(x: jax.Array) -> jax.Array:
    return jnp.linalg.norm(x, ord=1, axis=-1)


def maximum_norm_at_zero(x: jax.Array) -> jax.Array:
    return jnp.max(elementwise.absolute(x), axis=-1)


def naive_maximum_norm_at_zero(x: jax.Array) -> jax.Array:
    return jnp.linalg.norm(x, ord=jnp.inf, axis=-1)


def hinge_at_margin(x: jax.Array, sign: jax.Array) -> jax.Array:
    return jnp.mean(elementwise.maximum(1 - jax.lax.stop_gradient(sign) * x, 0), axis=-1)


def naive_hinge_at_margin(x: jax.Array, sign: jax.Array) -> jax.Array:
    return jnp.mean(optax.losses.hinge_loss(x, jax.lax.stop_gradient(sign)), axis=-1)


def zero_first_in_maximum(x: jax.Array) -> jax.Array:
    return jax.nn.relu(x)


def naive_zero_first_in_maximum(x: jax.Array) -> jax.Array:
    return jnp.maximum(0, x)


def keras_logaddexp_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return elementwise.maximum(x, y) + jnp.log1p(jnp.exp(-elementwise.absolute(x - y)))


def naive_keras_logaddexp_tie(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.logaddexp(x, y)


def keras_hypot_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    larger = elementwise.maximum(elementwise.absolute(x), elementwise.absolute(y))
    smaller = elementwise.minimum(elementwise.absolute(x), elementwise.absolute(y))
    return larger * jnp.sqrt(1 + jnp.square(elementwise.divide_no_nan(smaller, larger)))


def naive_keras_hypot_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.hypot(x, y)


def floormod_gradient(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mod(x, y)


def reduce_min_tie(x: jax.Array) -> jax.Array:
    return jnp.min(x, axis=-1)


def norm_at_zero(x: jax.Array) -> jax.Array:
    return jnp.linalg.norm(x, axis=-1)


def sqrt_at_zero(x: jax.Array) -> jax.Array:
    return jnp.sqrt(x)


def where_without_inner_where(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0, jnp.log(x), 0)


def atan2_at_zero(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.arctan2(x, y)


def reduce_prod_at_zero(x: jax.Array) -> jax.Array:
    return jnp.prod(x, axis=-1)


def round_half_gradient(x: jax.Array) -> jax.Array:
    return jnp.round(x)


def deviation_of_equals(x: jax.Array) -> jax.Array:
    return jnp.std(x, axis=-1)
