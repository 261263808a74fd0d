"""What a program rounds to fewer bits than float32 has is named, whatever its arithmetic is in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo.narrowings import narrowings, rounds_further

X, W = np.ones((4, 5), np.float32), np.ones((5, 3), np.float32)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        pytest.param(lambda x, w: x @ w, set(), id="nothing"),
        pytest.param(lambda x, w: x.astype(jnp.bfloat16).astype(x.dtype) @ w, {"bf16"}, id="there and back"),
        pytest.param(lambda x, w: x.astype(jnp.float16) @ w.astype(jnp.bfloat16), {"f16", "bf16"}, id="two types"),
        pytest.param(lambda x, w: x @ w * jnp.float32(jnp.bfloat16(0.1)), set(), id="a constant"),
        pytest.param(lambda x, w: x @ w * x.sum().astype(jnp.bfloat16).astype(x.dtype), set(), id="one number"),
        pytest.param(lambda x, w: jax.lax.reduce_precision(x, 5, 10) @ w, {"e5m10"}, id="reduce_precision"),
        pytest.param(lambda x, w: jax.lax.reduce_precision(x, 8, 23) @ w, set(), id="reduce_precision of float32"),
    ],
)
def test_types_of_several_numbers_are_named(function: Callable[..., Any], named: set[str]) -> None:
    assert narrowings(exported(function, X, W)) == named


def test_a_product_by_a_narrow_algorithm_is_named() -> None:
    preset = jax.lax.DotAlgorithmPreset.BF16_BF16_F32
    (name,) = narrowings(exported(lambda x, w: jax.lax.dot(x, w, precision=preset), X, W))
    assert "bf16" in name


def test_only_what_the_port_alone_rounds_is_further() -> None:
    plain, narrow = exported(lambda x, w: x @ w, X, W), exported(lambda x, w: x.astype(jnp.bfloat16) @ w, X, W)
    assert [rounds_further(*pair) for pair in ((plain, narrow), (narrow, plain), (narrow, narrow))] == [
        True,
        False,
        False,
    ]
