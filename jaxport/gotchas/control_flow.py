"""Loops, branches and maps in JAX."""

import jax
import jax.numpy as jnp


def _twice(value: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The next carry, which is the result of the step too."""
    return value, value


def scan_starts_with_first(x: jax.Array) -> jax.Array:
    _, products = jax.lax.scan(lambda product, row: _twice(product * row), x[0], x[1:])
    return jnp.concatenate([x[:1], products])


def naive_scan_starts_with_first(x: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda product, row: _twice(product * row), jnp.zeros_like(x[0]), x)[1]


def while_loop_maximum(x: jax.Array) -> jax.Array:
    def double(x: jax.Array, _: None) -> tuple[jax.Array, None]:
        return jnp.where(jnp.sum(x) < 1e4, 2 * x, x), None

    return jax.lax.scan(double, x, length=5)[0]


def naive_while_loop_maximum(x: jax.Array) -> jax.Array:
    # twenty doublings are always enough: a scan, since reverse mode needs a length
    def double(x: jax.Array, _: None) -> tuple[jax.Array, None]:
        return jnp.where(jnp.sum(x) < 1e4, 2 * x, x), None

    return jax.lax.scan(double, x, length=20)[0]


def switch_case_beyond(x: jax.Array, index: jax.Array) -> jax.Array:
    inside = (index >= 0) & (index < 3)
    return jax.lax.switch(jnp.where(inside, index, 2), [lambda x: x, lambda x: 2 * x, lambda x: 3 * x], x)


def naive_switch_case_beyond(x: jax.Array, index: jax.Array) -> jax.Array:
    return jax.lax.switch(index, [lambda x: x, lambda x: 2 * x, lambda x: 3 * x], x)


def case_first_true(x: jax.Array) -> jax.Array:
    total = jnp.sum(x)
    return jnp.select([total > 1, total > -1], [x, 2 * x], 3 * x)


def naive_case_first_true(x: jax.Array) -> jax.Array:
    total = jnp.sum(x)
    return (total > 1) * x + (total > -1) * 2 * x + (total <= -1) * 3 * x
