"""JAX's half of what TensorFlow's documentation of XLA lists as known issues."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify

from jaxport.random import normal
from workloads.protocol.attempting import Stage

_BOUND = 16


def naive_variable_on_another_device(x: jax.Array, variable: jax.Array) -> jax.Array:
    return jnp.tanh(x) * variable + 1.0


def around_naive_variable_on_another_device(stage: Stage, x: np.ndarray) -> Any:
    first, second = _two_devices()
    return stage()(jax.device_put(x, first), jax.device_put(np.float32(2.0), second))


def variable_on_another_device(x: jax.Array, variable: jax.Array) -> jax.Array:
    return jnp.tanh(x) * variable + 1.0


def around_variable_on_another_device(stage: Stage, x: np.ndarray) -> Any:
    first, second = _two_devices()
    variable = jax.device_put(np.float32(2.0), second)
    return stage()(jax.device_put(x, first), jax.device_put(variable, first))


def _two_devices() -> list[Any]:
    """Both are this processor; it can be divided only before JAX has started."""
    jax.config.update("jax_num_cpu_devices", 2)
    return jax.devices()


def _sum_of_products(x: jax.Array) -> jax.Array:
    def multiply(product: jax.Array, factor: jax.Array) -> tuple[jax.Array, jax.Array]:
        product = jnp.sin(product * factor)
        return product, product

    return lax.scan(multiply, jnp.ones([], x.dtype), x)[1].sum()


def tensor_array_across_the_border(x: jax.Array) -> jax.Array:
    return _sum_of_products(x)


def around_tensor_array_across_the_border(stage: Stage, x: np.ndarray) -> Any:
    return jax.grad(stage())(x)


def tensor_array_within_the_border(x: jax.Array) -> jax.Array:
    return jax.grad(_sum_of_products)(x)


def naive_gradient_of_an_unbounded_loop(x: jax.Array) -> jax.Array:
    def loop(x: jax.Array) -> jax.Array:
        return lax.while_loop(lambda y: y.sum() < 40.0, lambda y: y * y * 0.5 + y, x).sum()

    return jax.grad(loop)(x)


def gradient_of_an_unbounded_loop(x: jax.Array) -> jax.Array:
    return jax.grad(_bounded_loop)(x)


def gradient_of_a_bounded_loop(x: jax.Array) -> jax.Array:
    return jax.grad(_bounded_loop)(x)


def _bounded_loop(x: jax.Array) -> jax.Array:
    def step(y: jax.Array, _: None) -> tuple[jax.Array, None]:
        return lax.cond(y.sum() < 40.0, lambda y: y * y * 0.5 + y, lambda y: y, y), None

    return lax.scan(step, x, None, length=_BOUND)[0].sum()


def naive_dynamic_tensor_array(x: jax.Array) -> jax.Array:
    squares = []

    def body(place: jax.Array, _: None) -> None:
        squares.append(x[place] * x[place])

    lax.fori_loop(0, x.shape[0], body, None)
    return jnp.stack(squares)


def dynamic_tensor_array(x: jax.Array) -> jax.Array:
    return lax.scan(lambda _, value: (None, value * value), None, x)[1]


def seed_of_tensorflow(x: jax.Array) -> jax.Array:
    return x + jax.random.normal(jax.random.key(7), x.shape)


def around_seed_of_tensorflow(stage: Stage, x: np.ndarray) -> Any:
    return (stage()(x) == stage()(x)).astype(jnp.int32)


def stateless_seed(x: jax.Array) -> jax.Array:
    return x + jax.random.normal(jax.random.key(42), x.shape)


def around_stateless_seed(stage: Stage, x: np.ndarray) -> Any:
    return (stage()(x) == stage()(x)).astype(jnp.int32)


def stateless_numbers(x: jax.Array) -> jax.Array:
    return x + normal((42, 7), x.shape, kernels=True)


def naive_axis_from_a_loop(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x)
    return lax.fori_loop(0, 2, lambda axis, total: total + y.max(axis), jnp.zeros([4], x.dtype))


def axis_from_a_loop(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x)
    total = jnp.zeros([4], x.dtype)
    for axis in range(2):
        total += y.max(axis)
    return total


def naive_assertion(x: jax.Array) -> jax.Array:
    assert (x > 0).all(), "expected x above 0"
    return jnp.tanh(x) * 2.0 + x


def assertion(x: jax.Array) -> jax.Array:
    checkify.check((x > 0).all(), "expected x above 0")
    return jnp.tanh(x) * 2.0 + x


def around_assertion(stage: Stage, x: np.ndarray) -> Any:
    error, result = jax.jit(checkify.checkify(stage()))(x)
    error.throw()
    return result
