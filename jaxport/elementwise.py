"""Elementwise functions whose gradients at ties, at the ends of ranges and at zero are TensorFlow's."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike


def maximum(x: ArrayLike, y: ArrayLike) -> jax.Array:
    """The larger of both; where they are equal, x has all of the gradient, as in tf.maximum.

    Args:
      x: real numbers, of a shape that broadcasts with y's.
      y: real numbers.
    """
    return _larger(*_alike(x, y))


def minimum(x: ArrayLike, y: ArrayLike) -> jax.Array:
    """The smaller of both; where they are equal, x has all of the gradient, as in tf.minimum.

    Args:
      x: real numbers, of a shape that broadcasts with y's.
      y: real numbers.
    """
    return _smaller(*_alike(x, y))


def _alike(*values: ArrayLike) -> tuple[jax.Array, ...]:
    kind = jnp.result_type(*values)
    return tuple(jnp.asarray(value, kind) for value in values)


@jax.custom_jvp
def _larger(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.maximum(x, y)


@_larger.defjvp
def _larger_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    x, y = primals
    return _larger(x, y), jnp.where(x >= y, *tangents)


@jax.custom_jvp
def _smaller(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.minimum(x, y)


@_smaller.defjvp
def _smaller_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    x, y = primals
    return _smaller(x, y), jnp.where(x <= y, *tangents)


def clip_by_value(x: jax.Array, low: ArrayLike, high: ArrayLike) -> jax.Array:
    """The values within [low, high]; at both ends x has all of the gradient, as in tf.clip_by_value.

    Where low lies above high, the result is low.

    Args:
      x: real numbers.
      low: the least value, of a shape that broadcasts to x's.
      high: the largest value, of a shape that broadcasts to x's.
    """
    return maximum(minimum(x, high), low).astype(x.dtype)


def absolute(x: jax.Array) -> jax.Array:
    """The absolute value, whose gradient at zero is 0, as that of tf.abs.

    Args:
      x: real numbers of any shape.
    """
    return x * jax.lax.stop_gradient(jnp.sign(x))


def xlogy(x: jax.Array, y: jax.Array) -> jax.Array:
    """The product x log y, which is 0 and has gradients of 0 where x is 0, as tf.math.xlogy.

    Args:
      x: floats, of a shape that broadcasts with y's.
      y: floats.
    """
    return jnp.where(x == 0, 0, x * jnp.log(jnp.where(x == 0, 1, y)))


def xlog1py(x: jax.Array, y: jax.Array) -> jax.Array:
    """The product x log(1 + y), which is 0 and has gradients of 0 where x is 0, as tf.math.xlog1py.

    Args:
      x: floats, of a shape that broadcasts with y's.
      y: floats.
    """
    return jnp.where(x == 0, 0, x * jnp.log1p(jnp.where(x == 0, 0, y)))


def divide_no_nan(x: jax.Array, y: jax.Array) -> jax.Array:
    """The quotient x / y, which is 0 and has gradients of 0 where y is 0, as tf.math.divide_no_nan.

    Args:
      x: floats, of a shape that broadcasts with y's.
      y: floats.
    """
    return jnp.where(y == 0, 0, x / jnp.where(y == 0, 1, y))


def multiply_no_nan(x: ArrayLike, y: ArrayLike) -> jax.Array:
    """The product x y, which is 0 where y is 0 whatever x is; y's gradient there is x, as in tf.math.multiply_no_nan.

    Args:
      x: floats, of a shape that broadcasts with y's; nan and infinity are multiplied by zero to zero.
      y: floats.
    """
    return _product(*_alike(x, y))


@jax.custom_jvp
def _product(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(y == 0, 0, x * y)


@_product.defjvp
def _product_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    x, y = primals
    by_x, by_y = tangents
    return _product(x, y), _product(by_x, y) + x * by_y


def power(x: ArrayLike, y: ArrayLike) -> jax.Array:
    """Powers x ** y, whose gradient by y is 0 where x is not positive, as tf.pow's; jnp.power's is nan there.

    Args:
      x: floats, of a shape that broadcasts with y's.
      y: floats.
    """
    return _power(*_alike(x, y))


@jax.custom_jvp
def _power(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.power(x, y)


@_power.defjvp
def _power_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    x, y = primals
    by_x, by_y = tangents
    result = _power(x, y)
    logarithm = jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), 0)
    return result, by_x * y * jnp.power(x, y - 1) + by_y * result * logarithm


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def cumprod(x: jax.Array, axis: int) -> jax.Array:
    """Products of what comes up to each place; the gradient of a factor 0 is 0, as tf.math.cumprod's.

    TensorFlow divides by the factor what was multiplied by it. The derivative is another: see jnp.cumprod.

    Args:
      x: floats of any shape.
      axis: along which products are taken.
    """
    return jnp.cumprod(x, axis)


def _cumprod_forward(x: jax.Array, axis: int) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    products = jnp.cumprod(x, axis)
    return products, (x, products)


def _cumprod_backward(axis: int, residuals: tuple[jax.Array, jax.Array], cotangent: jax.Array) -> tuple[jax.Array]:
    x, products = residuals
    sums = jax.lax.cumsum(products * cotangent, axis % x.ndim, reverse=True)
    return (divide_no_nan(sums, x),)


cumprod.defvjp(_cumprod_forward, _cumprod_backward)


def clip_by_norm(x: jax.Array, norm: float) -> jax.Array:
    """The values, scaled down to the norm if need be; the gradient at zero is passed on whole, as by tf.clip_by_norm.

    Args:
      x: floats of any shape; all of them make up its norm.
      norm: the largest norm, above 0.
    """
    squares = jnp.sum(x * x)
    root = jnp.sqrt(jnp.where(squares > 0, squares, 1))
    return x * norm / maximum(jnp.where(squares > 0, root, squares), norm)
