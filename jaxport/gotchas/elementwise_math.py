"""Sums, norms and special functions in JAX."""

import jax
import jax.numpy as jnp

from jaxport import elementwise


def cumsum_default_axis(x: jax.Array) -> jax.Array:
    return jnp.cumsum(x, axis=0)


def naive_cumsum_default_axis(x: jax.Array) -> jax.Array:
    return jnp.cumsum(x)


def cumsum_exclusive(x: jax.Array) -> jax.Array:
    return jnp.cumsum(jnp.pad(x, ((0, 0), (1, 0)))[:, :-1], axis=1)


def naive_cumsum_exclusive(x: jax.Array) -> jax.Array:
    return jnp.cumsum(x, axis=1)


def cumsum_reverse(x: jax.Array) -> jax.Array:
    return jax.lax.cumsum(x, axis=1, reverse=True)


def naive_cumsum_reverse(x: jax.Array) -> jax.Array:
    return jnp.cumsum(x[:, ::-1], axis=1)


def cumulative_logsumexp(x: jax.Array) -> jax.Array:
    return jax.lax.cumlogsumexp(x, axis=1)


def naive_cumulative_logsumexp(x: jax.Array) -> jax.Array:
    return jnp.log(jnp.cumsum(jnp.exp(x), axis=1))


def reduce_logsumexp(x: jax.Array) -> jax.Array:
    return jax.nn.logsumexp(x, axis=1)


def naive_reduce_logsumexp(x: jax.Array) -> jax.Array:
    return jnp.log(jnp.sum(jnp.exp(x), axis=1))


def variance_one_pass(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.mean(x, axis=1), jnp.var(x, axis=1)


def naive_variance_one_pass(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    mean = jnp.mean(x, axis=1)
    return mean, jnp.mean(x**2, axis=1) - mean**2


def log1p(x: jax.Array) -> jax.Array:
    return jnp.log1p(x)


def naive_log1p(x: jax.Array) -> jax.Array:
    return jnp.log(1 + x)


def expm1(x: jax.Array) -> jax.Array:
    return jnp.expm1(x)


def naive_expm1(x: jax.Array) -> jax.Array:
    return jnp.exp(x) - 1


def reduce_std_ddof(x: jax.Array) -> jax.Array:
    return jnp.std(x, axis=1)


def naive_reduce_std_ddof(x: jax.Array) -> jax.Array:
    return jnp.std(x, axis=1, ddof=1)


def clip_by_norm(x: jax.Array) -> jax.Array:
    squares = jnp.sum(x**2)
    norm = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1)), squares)
    return x * 2 / jnp.where(norm >= 2, norm, 2)


def naive_clip_by_norm(x: jax.Array) -> jax.Array:
    return x * jnp.minimum(1, 2 / jnp.linalg.norm(x))


def clip_crossed_bounds(x: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    return elementwise.clip_by_value(x, low, high)


def naive_clip_crossed_bounds(x: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    return jnp.clip(x, low, high)


def reciprocal_no_nan(x: jax.Array) -> jax.Array:
    return jnp.where(x == 0, 0, 1 / jnp.where(x == 0, 1, x))


def naive_reciprocal_no_nan(x: jax.Array) -> jax.Array:
    return jnp.where(x != 0, 1 / x, 0)


def xdivy(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(x == 0, 0, x / jnp.where(x == 0, 1, y))


def naive_xdivy(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(x == 0, 0, x / y)


def cumsum(x: jax.Array) -> jax.Array:
    return jnp.cumsum(x, axis=1)


def squared_difference(x: jax.Array, y: jax.Array) -> jax.Array:
    return (x - y) ** 2


def lgamma(x: jax.Array) -> jax.Array:
    return jax.scipy.special.gammaln(x)


def digamma(x: jax.Array) -> jax.Array:
    return jax.scipy.special.digamma(x)


def erfinv(x: jax.Array) -> jax.Array:
    return jax.scipy.special.erfinv(x)


def betainc(a: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
    return jax.scipy.special.betainc(jax.lax.stop_gradient(a), jax.lax.stop_gradient(b), x)


def zeta(x: jax.Array, q: jax.Array) -> jax.Array:
    return jax.scipy.special.zeta(jax.lax.stop_gradient(x), q)


def bessel_i0e(x: jax.Array) -> jax.Array:
    return jax.scipy.special.i0e(x)


def complex_product(x: jax.Array, y: jax.Array) -> jax.Array:
    return (x * y).real


def atan2(y: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.arctan2(y, x)
