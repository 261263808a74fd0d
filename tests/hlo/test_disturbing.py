"""Disturbances of a rounding in every value: as large as a formula makes them, and none where nothing is rounded."""

from __future__ import annotations

import numpy as np
import pytest

from compare.hlo import bindings, executing
from compare.hlo.disturbing import disturb

UNIT = 2.0**-24
X = np.linspace(1e-4, 2e-4, 64)


def program(body: str, result: str = "tensor<64xf64>") -> bytes:
    return bindings.artifact(f"""
func.func @main(%x: tensor<64xf64>) -> {result} {{
  %one = stablehlo.constant dense<1.0> : tensor<64xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
{body}
  return %y : {result}
}}""")


def spread(body: str, result: str = "tensor<64xf64>") -> tuple[np.ndarray, np.ndarray]:
    """The values, and how far the disturbed program is from them."""
    artifact = program(body, result)
    (exact,) = executing.compile_bytecode(artifact)([X])
    (found,) = executing.compile_bytecode(disturb(artifact, UNIT))([X])
    return exact, np.abs(found - exact)


EXPONENTIAL = "%y = stablehlo.exponential %x : tensor<64xf64>"
CANCELLING = """
  %e = stablehlo.exponential %x : tensor<64xf64>
  %y = stablehlo.subtract %e, %one : tensor<64xf64>"""
STABLE = "%y = stablehlo.exponential_minus_one %x : tensor<64xf64>"


def test_each_operation_is_moved_by_at_most_a_rounding() -> None:
    exact, moved = spread(EXPONENTIAL)
    assert 0 < (moved / exact).max() <= UNIT
    assert len(set((moved / exact).tolist())) > 32, "values are moved each on its own"


def test_what_cancels_shows() -> None:
    exact, moved = spread(CANCELLING)
    assert (moved / exact).max() > 1000 * UNIT
    exact, moved = spread(STABLE)
    assert (moved / exact).max() <= UNIT


@pytest.mark.parametrize(
    "body",
    [
        "%y = stablehlo.negate %x : tensor<64xf64>",
        "%y = stablehlo.maximum %x, %one : tensor<64xf64>",
        "%y = stablehlo.reverse %x, dims = [0] : tensor<64xf64>",
    ],
)
def test_what_hands_values_on_is_not_moved(body: str) -> None:
    assert spread(body)[1].max() == 0


def test_a_sum_is_moved_once() -> None:
    body = """
  %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<64xf64>, tensor<f64>) -> tensor<f64>"""
    exact, moved = spread(body, "tensor<f64>")
    assert 0 < moved / exact <= 1.01 * UNIT


def test_the_largest_of_several_values_is_one_of_them() -> None:
    largest = """
  %e = stablehlo.exponential %x : tensor<64xf64>
  %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %m = stablehlo.reduce(%e init: %low) applies stablehlo.maximum across dimensions = [0]
    : (tensor<64xf64>, tensor<f64>) -> tensor<f64>
  %wide = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f64>) -> tensor<64xf64>
  %same = stablehlo.compare EQ, %e, %wide : (tensor<64xf64>, tensor<64xf64>) -> tensor<64xi1>
  %y = stablehlo.convert %same : (tensor<64xi1>) -> tensor<64xf64>"""
    exact, moved = spread(largest)
    assert exact.sum() == 1 and moved.max() <= UNIT


def test_infinities_and_zeros_stay() -> None:
    artifact = disturb(program(EXPONENTIAL), UNIT)
    (found,) = executing.compile_bytecode(artifact)([np.array([1e9, -1e9] * 32)])
    assert found.tolist() == [np.inf, 0.0] * 32


def test_programs_without_floats_are_left_alone() -> None:
    artifact = bindings.artifact("""
func.func @main(%n: tensor<4xi32>) -> tensor<4xi32> {
  %y = stablehlo.add %n, %n : tensor<4xi32>
  return %y : tensor<4xi32>
}""")
    (found,) = executing.compile_bytecode(disturb(artifact, UNIT))([np.arange(4, dtype=np.int32)])
    assert found.tolist() == [0, 2, 4, 6]
