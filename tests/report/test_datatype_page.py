"""What is said of the types that programs compute in, on records that are written by hand."""

from __future__ import annotations

import pytest

from compare.record.datatypes_part import TypedFunction, TypedProgram, TypedRow
from compare.report.datatype_page import computation_lines, stand_ins


def told(asks: dict[str, int], computes: dict[str, int]) -> str:
    program = TypedProgram("jax", ("bfloat16",), computes=computes, asks=asks, converts={"bf16 to f32": 1})
    (line,) = computation_lines(TypedFunction("mean", ("x",), 8, (TypedRow("bfloat16", programs=(program,)),)))
    return line


@pytest.mark.parametrize(
    ("asks", "computes", "said"),
    [
        ({"bf16": 1}, {"f32": 1}, "bf16, jax: emulated: arithmetic 1 in f32, none in bf16; converts 1 x bf16 to f32"),
        ({"f32": 2}, {"f32": 2}, "bf16, jax: the program asks for f32: arithmetic 2 in f32, none in bf16"),
        ({"bf16": 1, "f32": 1}, {"f32": 2}, "; the program asks for 1 in bf16, 1 in f32"),
        ({}, {"f32": 2}, "; the program as written has no arithmetic on floats"),
        ({"f32": 1}, {"bf16": 1}, "bf16, jax: arithmetic 1 in bf16"),
    ],
)
def test_emulated_is_what_was_asked_for_in_the_type_itself(
    asks: dict[str, int], computes: dict[str, int], said: str
) -> None:
    line = told(asks, computes)
    assert said in line and ("emulated" in line) == ("bf16" in asks)


def test_what_stands_in_is_said_once_for_all_types() -> None:
    rows = [*(TypedRow(dtype, stand_in="int64") for dtype in ("int4", "uint4")), TypedRow("int8")]
    (line,) = stand_ins(TypedFunction("sum", ("x",), 8, tuple(rows)))
    assert line.startswith("i4, u4: int64, in the place of tf/eager")
