"""What is never called equal: programs that give other results on some inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hlo_programs import exported, written

from compare.hlo.align import Alignment, align
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.levels import ALGEBRA, Subject

X = np.linspace(-2.0, 2.0, 6, dtype=np.float32)
I16, I32, U32 = (np.arange(-3, 3).astype(dtype) for dtype in (np.int16, np.int32, np.uint32))
SQUARE = np.ones((4, 4), np.float32)


def aligned(first: Callable[..., Any], second: Callable[..., Any], *arguments: np.ndarray) -> Alignment:
    subjects = [Subject(name, hlo_of_artifact(exported(each, *arguments)))
                for name, each in (("first", first), ("second", second))]  # fmt: skip
    return align(subjects[0], subjects[1], ALGEBRA)


def constant(dtype: Any, value: float) -> Callable[[Any], Any]:
    return lambda x: x + np.array([value, 2, 3, 4, 5, 6], dtype).astype(np.float32).astype(dtype)


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e3m4, ml_dtypes.float8_e5m2fnuz])
def test_constants_of_types_that_numpy_lacks(dtype: Any) -> None:
    x = X.astype(dtype)
    assert not aligned(constant(dtype, 1), constant(dtype, 2), x).is_equal
    assert aligned(constant(dtype, 1), constant(dtype, 1), x).is_equal


def test_an_integer_through_a_float_saturates_where_it_would_wrap() -> None:
    through = aligned(lambda x: x.astype(jnp.float32).astype(jnp.int8), lambda x: x.astype(jnp.int8), I16)
    assert not through.is_equal
    widened = aligned(lambda x: x.astype(jnp.float32).astype(jnp.int32), lambda x: x.astype(jnp.int32), I16)
    assert widened.is_equal


def test_the_sign_of_an_unsigned_quotient_stays_where_it_is() -> None:
    assert not aligned(lambda x, y: jax.lax.div(-x, y), lambda x, y: -jax.lax.div(x, y), U32, U32 + 9).is_equal


@pytest.mark.parametrize(
    ("first", "second", "argument", "where"),
    [
        (lambda x: jnp.exp(jnp.log(x)), lambda x: x * 1, X, "logarithms are of positive numbers"),
        (lambda x: jnp.where(jnp.isfinite(x), x, 0.0), lambda x: x * 1, X, "guarded values are finite"),
        (lambda x: jnp.where(jax.lax.rem(x, 7) < 0, jax.lax.rem(x, 7) + 7, jax.lax.rem(x, 7)),
         lambda x: jax.lax.rem(x, 7), I32, "integers that would be wrapped are not below 0"),
    ],
    ids=["log", "guard", "modulo"],
)  # fmt: skip
def test_equal_on_some_inputs_is_not_equal_and_says_on_which(
    first: Any, second: Any, argument: Any, where: str
) -> None:
    found = aligned(first, second, argument)
    assert not found.is_equal and found.assumes == (where,)


def test_what_both_programs_assume_alike_is_no_assumption() -> None:
    def guarded(x: jax.Array) -> jax.Array:
        return jnp.where(jnp.isfinite(x), x, 0.0) + 1

    found = aligned(guarded, guarded, X)
    assert found.is_equal and not found.assumes


def test_the_algorithm_of_a_product() -> None:
    plain = lambda x: x @ x  # noqa: E731
    split = lambda x: jax.lax.dot(x, x, precision=jax.lax.DotAlgorithmPreset.BF16_BF16_F32)  # noqa: E731
    assert not aligned(plain, split, SQUARE).is_equal


def test_a_call_that_acts_though_nobody_reads_it() -> None:
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
      {} stablehlo.custom_call @act() {{has_side_effect = true}} : () -> ()
      %0 = stablehlo.sine %x : tensor<2xf32>
      return %0 : tensor<2xf32> }}"""
    acting, idle = (hlo_of_artifact(written(text.format(each))) for each in ("", "//"))
    assert not align(Subject("acting", acting), Subject("idle", idle), ALGEBRA).is_equal


def test_complex_zeros_are_read() -> None:
    found = aligned(lambda x: x - (1j - 1j), lambda x: x - (2 + 0j), X.astype(np.complex64))
    assert not found.is_equal
