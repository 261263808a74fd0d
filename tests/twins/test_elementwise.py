"""What TensorFlow's elementwise functions do with values that random cases do not hold, and under transformations."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxport import activations, elementwise


def test_a_product_with_zero_is_zero_whatever_the_other_factor_is() -> None:
    x = jnp.array([jnp.nan, jnp.inf, 3.0])

    assert elementwise.multiply_no_nan(x, jnp.zeros(3)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("function", [elementwise.maximum, elementwise.minimum])
def test_a_tie_gives_the_first_argument_all_under_vmap_and_against_a_plain_number(
    function: Callable[..., jax.Array],
) -> None:
    ones = jnp.ones((2, 3), jnp.bfloat16)

    first = jax.vmap(jax.grad(lambda row: jnp.sum(function(row, 1))))(ones)
    second = jax.grad(lambda row: jnp.sum(function(ones, row)))(ones[0])

    assert first.dtype == jnp.bfloat16
    np.testing.assert_array_equal(first.astype(np.float32), np.ones((2, 3)))
    np.testing.assert_array_equal(second.astype(np.float32), np.zeros(3))


def test_a_nan_is_not_compared_away() -> None:
    for function in (elementwise.maximum, elementwise.minimum):
        assert jnp.isnan(function(jnp.array(jnp.nan), 1.0))
        assert jnp.isnan(function(1.0, jnp.array(jnp.nan)))


def test_a_leaky_relu_of_keras_with_a_largest_value() -> None:
    x = jnp.array([-2.0, 0.5, 3.0])

    assert activations.relu(x, negative_slope=0.5, max_value=1.0).tolist() == [-1.0, 0.5, 1.0]


def test_a_clip_between_crossed_bounds_gives_the_lower_bound() -> None:
    assert elementwise.clip_by_value(jnp.array([-2.0, 0.0, 2.0]), 1.0, -1.0).tolist() == [1.0, 1.0, 1.0]
    assert elementwise.clip_by_value(jnp.array([-2, 0, 2]), -1, 1).tolist() == [-1, 0, 1]
