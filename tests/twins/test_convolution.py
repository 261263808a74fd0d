"""Depthwise convolution by shifted products is XLA's convolution by groups, in value and in gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxport.convolution import depthwise


def by_groups(images: jax.Array, kernel: jax.Array) -> jax.Array:
    return jax.lax.conv_general_dilated(
        images,
        kernel.transpose(0, 1, 3, 2),
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=images.shape[-1],
    )


@pytest.mark.parametrize(
    ("count", "height", "width", "size"), [(1, 1, 2, 3), (7, 2, 3, 1), (12, 4, 4, 5), (3, 20, 5, 3)]
)
def test_it_gives_what_a_convolution_by_groups_gives(count: int, height: int, width: int, size: int) -> None:
    generator = np.random.default_rng(size)
    shapes = (count, height, width, 3), (size, size, 3, 1), (count, height, width, 3)
    images, kernel, weights = (jnp.asarray(generator.integers(-4, 5, shape), "float32") for shape in shapes)
    found, expected = (
        jax.value_and_grad(lambda *given, function=function: (function(*given) * weights).sum(), argnums=(0, 1))(
            images, kernel
        )
        for function in (depthwise, by_groups)
    )
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(one, other)
