"""The functions in JAX: a size is a static argument, a bound, or a symbol with a constraint."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from workloads.protocol.attempting import Stage


def naive_size_from_an_argument(x: jax.Array, count: jax.Array) -> jax.Array:
    steps = jnp.arange(count).astype(x.dtype)
    return jnp.tanh(steps * x[0]) * 2.0 + x[1]


def size_from_an_argument(x: jax.Array, count: int) -> jax.Array:
    steps = jnp.arange(count).astype(x.dtype)
    return jnp.tanh(steps * x[0]) * 2.0 + x[1]


def around_size_from_an_argument(stage: Stage, x: np.ndarray, count: np.ndarray) -> Any:
    return stage(static_argnums=1)(x, int(count))


def naive_repeat_by_counts(x: jax.Array, counts: jax.Array) -> jax.Array:
    repeats = jnp.repeat(jnp.tanh(x), counts)
    return jnp.abs(repeats * 2.0 + 1.0)


def repeat_by_counts(x: jax.Array, counts: jax.Array) -> jax.Array:
    repeats = jnp.repeat(jnp.tanh(x), counts, total_repeat_length=3 * x.size)
    return jnp.abs(repeats * 2.0 + 1.0)


def naive_size_from_a_random_number(x: jax.Array) -> jax.Array:
    size = jax.random.uniform(jax.random.key(0), (), minval=8.1, maxval=8.9).astype(jnp.int32)
    return jnp.zeros([size]) + jnp.tanh(x[0])


def size_from_a_random_number(x: jax.Array, size: int) -> jax.Array:
    return jnp.zeros([size]) + jnp.tanh(x[0])


def around_size_from_a_random_number(stage: Stage, x: np.ndarray) -> Any:
    size = int(np.random.default_rng(0).uniform(8.1, 8.9))
    return stage(static_argnums=1)(x, size)


def naive_comparison_of_an_unknown_size(x: jax.Array) -> jax.Array:
    if x.shape[0] > 32:
        return jnp.tanh(x) * 2.0
    return x


def around_naive_comparison_of_an_unknown_size(stage: Stage, x: np.ndarray) -> Any:
    return _export(stage, x, [])


def comparison_of_an_unknown_size(x: jax.Array) -> jax.Array:
    if x.shape[0] > 32:
        return jnp.tanh(x) * 2.0
    return x


def around_comparison_of_an_unknown_size(stage: Stage, x: np.ndarray) -> Any:
    return _export(stage, x, ["n >= 33"])


def _export(stage: Stage, x: np.ndarray, constraints: list[str]) -> Any:
    shape = export.symbolic_shape("n", constraints=constraints)
    program = export.export(jax.jit(stage()))(jax.ShapeDtypeStruct(shape, x.dtype))
    return program.call(x)
