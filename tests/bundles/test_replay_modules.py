"""Modules read from files of every kind, the reference interpreter, and the measure of differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compare.bundles import interpreting
from compare.bundles.distance import difference, tolerance_of
from compare.hlo import bindings, executing, plain, standalone
from compare.hlo.bindings import UnreadableProgram

SCALED = """
func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %two : tensor<4xf32>
  %1 = stablehlo.add %n, %n : tensor<4xi32>
  return %0, %1 : tensor<4xf32>, tensor<4xi32>
}
"""
PRODUCT = """
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
UNKNOWN = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @no_such_target(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
RELAID = """
HloModule m
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  t = f32[2,3]{0,1} copy(x)
  b = f32[3,2]{1,0} bitcast(t)
  ROOT n = f32[3,2]{1,0} negate(b)
}
"""

X, N = np.array([1, 2, 3, 4], np.float32), np.array([1, 2, 3, 4], np.int32)


@pytest.mark.usefixtures("programs_here")
def test_every_kind_of_file_is_the_same_program(tmp_path: Path) -> None:
    artifact = bindings.artifact(SCALED)
    proto = bindings.hlo_of(bindings.parse(artifact))
    optimized = executing.compile_bytecode(artifact).optimized_module
    for data in (artifact, proto, optimized, bindings.hlo_text(proto).encode()):
        found = executing.compile_bytecode(standalone.artifact_of_file(data))([X, N])
        np.testing.assert_array_equal(found[0], X * 2)
        np.testing.assert_array_equal(found[1], N * 2)


@pytest.mark.usefixtures("programs_here")
def test_a_bitcast_between_layouts_moves_the_elements_that_xla_moves() -> None:
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = executing.compile_bytecode(standalone.artifact_of_file(RELAID.encode()))([data])
    # In the layout {0,1} the bytes of [2,3] are those of its transpose.
    np.testing.assert_array_equal(found[0], -data.T)


def test_a_bitcast_to_another_dtype_is_refused() -> None:
    text = "HloModule m\nENTRY e { x = f32[2] parameter(0) ROOT b = s32[2] bitcast(x) }"
    with pytest.raises(UnreadableProgram, match="expected a bitcast that keeps its dtype"):
        standalone.artifact_of_file(text.encode())


def test_a_shorthand_dot_is_spelled_out_for_the_interpreter() -> None:
    module = bindings.parse(bindings.artifact(PRODUCT))
    plain.without_shorthands(module)
    assert "stablehlo.dot_general" in {each.name for each in bindings.operations(module)}
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    (found,) = standalone.interpret(bindings.artifact(PRODUCT), [a, b])
    np.testing.assert_array_equal(found, a @ b)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bool", "int8", "int64", "uint32"])
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)])
def test_the_interpreter_takes_and_gives_arrays_of_every_dtype(dtype: str, shape: tuple[int, ...]) -> None:
    short = {"float": "f", "uint": "ui", "int": "i", "bool": "i1"}
    name = next(dtype.replace(long, brief) for long, brief in short.items() if dtype.startswith(long))
    kind = f"tensor<{''.join(f'{each}x' for each in shape)}{name}>"
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(dtype)
    artifact = bindings.artifact(f"func.func @main(%x: {kind}) -> {kind} {{ return %x : {kind} }}")
    (found,) = standalone.interpret(artifact, [array])
    np.testing.assert_array_equal(found, array, strict=True)


@pytest.mark.process
def test_an_interpreter_that_ends_its_process_ends_no_other() -> None:
    with pytest.raises(UnreadableProgram, match="the interpreter ended its process by signal SIGABRT: LLVM ERROR"):
        interpreting.interpret(bindings.artifact(UNKNOWN), [np.zeros(2, np.float32)], 60)
    assert (
        interpreting._reason("noise\nLLVM ERROR: no dot\n", -6)
        == "the interpreter ended its process by signal SIGABRT: LLVM ERROR: no dot"
    )


def test_a_program_too_large_for_the_interpreter_is_refused() -> None:
    kind = "tensor<30000000xf32>"
    artifact = bindings.artifact(f"func.func @main(%x: {kind}) -> {kind} {{ return %x : {kind} }}")
    with pytest.raises(UnreadableProgram, match="expected up to 2e\\+07 operations for the interpreter, found 3e\\+07"):
        standalone.interpret(artifact, [])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_neighbours_are_one_unit_in_the_last_place_apart(dtype: Any) -> None:
    values = np.array([1, -1, 0, 1e-3], dtype)
    found = difference(np.nextafter(values, np.array(np.inf, dtype)), values)
    assert (found.ulp, found.agrees) == (1, True)


def test_distances_count_across_zero_and_both_zeros_are_one() -> None:
    tiny = np.float32(1e-45)
    assert difference(np.array([-tiny]), np.array([tiny])).ulp == 2
    assert difference(np.array([-0.0]), np.array([0.0])).ulp == 0


def test_the_largest_relative_error_is_relative_to_the_largest_value() -> None:
    found = difference(np.array([1.5, 100.0]), np.array([1.0, 100.0]))
    assert (found.absolute, found.relative, found.agrees) == (0.5, 0.005, False)


def test_nan_and_infinities_must_stand_alike() -> None:
    expected = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert difference(expected.copy(), expected).agrees
    assert not difference(np.array([np.nan, np.inf, np.inf, 1.0]), expected).alike
    assert not difference(np.array([np.nan, np.inf, -np.inf, np.nan]), expected).agrees


def test_whole_numbers_are_exact_however_large() -> None:
    found = difference(np.array([2**63], np.uint64), np.array([2**63 + 1], np.uint64))
    assert (found.absolute, found.agrees, found.ulp) == (1.0, False, None)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float32", 2.0**-10), ("float64", 2.0**-39), ("bfloat16", 0.1), ("int32", 0.0), ("bool", 0.0)],
)
def test_the_tolerance_is_that_of_the_dtype(dtype: str, expected: float) -> None:
    assert tolerance_of(np.dtype(dtype)) == expected
