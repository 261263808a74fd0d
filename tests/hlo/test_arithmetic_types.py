"""Which types an optimized module computes in, on modules that are written by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compare.hlo import bindings
from compare.hlo.arithmetic_types import ArithmeticTypes, arithmetic_types, asked_types
from compare.hlo.bindings import UnreadableProgram


def of_text(body: str, more: str = "") -> ArithmeticTypes:
    return arithmetic_types(bindings.hlo_from_text(f"HloModule hand\n{more}\nENTRY entry {{\n{body}\n}}"))


def test_arithmetic_between_two_conversions_is_emulation() -> None:
    found = of_text("""
  x = bf16[4] parameter(0)
  wide = f32[4] convert(x)
  sum = f32[4] add(wide, wide)
  ROOT narrow = bf16[4] convert(sum)""")
    assert found == ArithmeticTypes({"f32": 1}, {"bf16 to f32": 1, "f32 to bf16": 1})


def test_what_is_fused_and_what_reduces_counts_and_what_moves_data_does_not() -> None:
    reducer = """
plus { a = f16[] parameter(0)\n b = f16[] parameter(1)\n ROOT c = f16[] add(a, b) }
fused { p = f16[4] parameter(0)\n ROOT m = f16[4] multiply(p, p) }"""
    found = of_text(
        """
  x = f16[4] parameter(0)
  z = f16[] constant(0)
  f = f16[4] fusion(x), kind=kLoop, calls=fused
  s = f16[4] negate(f)
  t = f16[4] copy(s)
  ROOT r = f16[] reduce(t, z), dimensions={0}, to_apply=plus""",
        reducer,
    )
    assert found == ArithmeticTypes({"f16": 3}, {})


def test_a_comparison_counts_by_what_it_compares() -> None:
    found = of_text("  x = bf16[4] parameter(0)\n  ROOT y = pred[4] compare(x, x), direction=LT")
    assert found.computes == {"bf16": 1}


def test_what_a_program_asks_for_is_read_off_as_it_was_written() -> None:
    asked = asked_types(
        bindings.artifact("""
func.func public @main(%x: tensor<4xbf16>, %n: tensor<4xi32>) -> (tensor<f32>, tensor<4xi1>, tensor<4xi32>) {
  %square = stablehlo.multiply %x, %x : tensor<4xbf16>
  %wide = stablehlo.convert %square : (tensor<4xbf16>) -> tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %less = stablehlo.compare LT, %x, %square : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  %twice = stablehlo.add %n, %n : tensor<4xi32>
  return %sum, %less, %twice : tensor<f32>, tensor<4xi1>, tensor<4xi32>
}""")
    )
    assert asked == {"bf16": 2, "f32": 1, "s32": 1}


@pytest.mark.parametrize("read", [arithmetic_types, asked_types])
def test_bytes_of_something_else_are_refused(read: Callable[[bytes], object]) -> None:
    with pytest.raises(UnreadableProgram):
        read(b"no module")
