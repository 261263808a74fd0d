"""Max pooling by choices is a reduction of windows, in value and in gradient, at ties too."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxport.pooling import max_pool, overlapping_max_pool

POOLS = [(max_pool, 2), (overlapping_max_pool, 3)]


def reduced(images: jax.Array, size: int) -> jax.Array:
    return jax.lax.reduce_window(images, -jnp.inf, jax.lax.max, (1, size, size, 1), (1, 2, 2, 1), "SAME")


@pytest.mark.parametrize(("pool", "size"), POOLS)
@pytest.mark.parametrize("values", [2, 4, 1000])
def test_it_gives_what_a_reduction_of_windows_gives(
    pool: Callable[[jax.Array], jax.Array], size: int, values: int
) -> None:
    generator = np.random.default_rng(values)
    images = jnp.array(generator.integers(-values, 0, (2, 8, 6, 3)), "float32")
    weights = jnp.array(generator.integers(1, 9, (2, 4, 3, 3)), "float32")
    found = jax.jit(jax.value_and_grad(lambda x: (pool(x) * weights).sum()))(images)
    expected = jax.value_and_grad(lambda x: (reduced(x, size) * weights).sum())(images)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("pool", "size"), POOLS)
@pytest.mark.parametrize("place", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_no_value_is_larger_than_what_is_no_number(
    pool: Callable[[jax.Array], jax.Array], size: int, place: tuple[int, int]
) -> None:
    images = jnp.zeros((1, 4, 4, 1)).at[0, place[0], place[1], 0].set(jnp.nan)
    np.testing.assert_array_equal(pool(images), reduced(images, size))


def test_what_fills_no_window_is_dropped() -> None:
    images = jnp.arange(5 * 7, dtype="float32").reshape(1, 5, 7, 1)
    found, gradient = jax.value_and_grad(lambda x: max_pool(x).sum())(images)
    np.testing.assert_array_equal(max_pool(images), reduced(images[:, :4, :6], 2))
    assert found == max_pool(images).sum()
    assert gradient.shape == images.shape and gradient.sum() == 2 * 3
