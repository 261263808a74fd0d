"""Whether the four cells computed the same: what counts as another result, and what as rounding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from compare.hlo import bindings
from compare.prove import cells
from compare.prove.collect import Collected
from compare.record.program_parts import Compiled
from compare.sides import requests
from compare.sides._side import Reply, Side, SideError
from workloads.core.spec import Arrays
from workloads.protocol import framework
from workloads.protocol.framework import Optimized, Parameter, Program, Result

EXPECTED = {"loss": np.float32(2.0), "moment": np.array([1e-9, -1e-9], np.float32), "count": np.array([1, 2])}


def error_of(**changed: np.ndarray) -> float | None:
    return max(cells.errors(EXPECTED | changed, EXPECTED))


def test_equal_results_have_no_error_and_unnamed_ones_none() -> None:
    assert error_of() == 0
    assert cells.errors({}, EXPECTED) == [] and cells.usual([]) is None


def test_a_moment_of_pure_rounding_may_be_any_other_rounding() -> None:
    assert error_of(moment=-EXPECTED["moment"]) == 0


def test_what_is_beyond_rounding_of_the_largest_result_counts_relative_to_its_own() -> None:
    assert error_of(moment=np.array([1e-5, 0], np.float32)) == pytest.approx(1e4, rel=1e-3)
    assert error_of(loss=np.float32(2.02)) == pytest.approx(0.01, rel=1e-3)


def test_in_a_narrow_type_noise_is_relative_to_results_of_the_same_kind() -> None:
    expected = {"loss": np.float32(6), "state/zero": np.float32([2e-5]), "state/moment": np.float32([0.03])}
    rounded = expected | {"loss": np.float32(6.1), "state/zero": np.float32([1e-5])}
    assert max(cells.errors(rounded, expected, "bfloat16")) < cells.TIPPED
    assert max(cells.errors(rounded, expected)) == pytest.approx(0.5)
    wrong = expected | {"state/moment": np.float32([0.02])}
    assert max(cells.errors(wrong, expected, "bfloat16")) == pytest.approx(1 / 3)


def test_integers_have_no_rounding_and_other_shapes_nothing_in_common() -> None:
    assert error_of(count=np.array([1, 3])) == 0.5
    assert error_of(count=np.array([1])) == np.inf


@pytest.mark.parametrize(
    ("errors", "holds"),
    [
        ([1e-4] * 20, True),
        ([1e-4] * 10 + [0.025] * 10, True),
        ([1e-4] * 9 + [0.025] * 11, False),
        ([1e-4] * 19 + [0.2], False),
        ([1e-4] * 8 + [0.002], False),
        ([np.inf], False),
    ],
)
def test_an_activation_that_is_tipped_over_may_move_half_of_many_results(errors: list[float], holds: bool) -> None:
    described = {"tf@jax": Compiled(error=max(errors), usual_error=cells.usual(errors))}
    found = cells.disagreements(described)
    assert [each.doing for each in found] == ([] if holds else ["cell tf@jax"])


def typed(dtype: str, computed: str) -> Compiled:
    """A program that adds in one type, with a module that adds in another."""
    program = f"func.func public @main(%x: tensor<4x{dtype}>) -> tensor<4x{dtype}> {{\n"
    program += f"  %y = stablehlo.add %x, %x : tensor<4x{dtype}>\n  return %y : tensor<4x{dtype}>\n}}"
    module = f"HloModule hand\nENTRY entry {{\n  x = {computed}[4] parameter(0)\n"
    module += f"  ROOT y = {computed}[4] add(x, x)\n}}"
    optimized = Optimized(bindings.hlo_from_text(module), None)
    return cells._with_types(Compiled(), Program(bindings.artifact(program), (), ()), optimized)


def test_the_types_of_a_cell_are_told_where_its_program_asks_for_a_narrow_float() -> None:
    assert typed("bf16", "f32") == Compiled(asks={"bf16": 1}, computes={"f32": 1})
    assert typed("f16", "f16") == Compiled(asks={"f16": 1}, computes={"f16": 1})
    assert typed("f32", "f32") == Compiled()


def test_a_program_that_cannot_be_read_here_has_no_types() -> None:
    assert cells._with_types(Compiled(), Program(b"no StableHLO", (), ()), Optimized(b"", None)) == Compiled()


DOUBLING = """func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.add %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}"""
EXACT = 2.0


class Named(Side):
    """A side of which only its name is asked."""

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        """Requests are answered in its place."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing runs."""


def compiled_by(monkeypatch: pytest.MonkeyPatch, single: dict[str, float], lost: str = "") -> cells.Cells:
    """Cells of one program whose results in float32 are what each side's XLA makes of them, by side."""

    def compiled(side: Side, program: Program, options: object = None) -> framework.Compiled:
        wide = program.results[0].dtype == "float64"
        if wide and side.name == lost:
            raise SideError(side.name, "compile", "it was killed", is_lost=True)
        return framework.Compiled(64 if wide else 32, 0.0)

    def executed(side: Side, handle: int, case: str) -> dict[str, np.ndarray]:
        return {"sum": np.array(EXACT) if handle == 64 else np.array(single[side.name], np.float32)}

    def unread(side: Side, handle: int) -> Optimized:
        raise SideError(side.name, "optimized", "there is no module")

    for name, stand_in in (("compile_program", compiled), ("execute", executed), ("optimized", unread)):
        monkeypatch.setattr(requests, name, stand_in)
    signature = (Parameter("input", "x", (4,), "float32"),), (Result("sum", (4,), "float32"),)
    program = Program(bindings.artifact(DOUBLING), *signature)
    collected = {name: Collected(name, portable=program) for name in ("tf", "jax")}
    return cells.compile_cells({name: Named(name) for name in single}, collected, "seed0")


def test_where_tensorflow_itself_is_inexact_cells_are_held_against_its_program_in_float64(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described = compiled_by(monkeypatch, {"tf": EXACT * 0.991, "jax": EXACT * (1 + 1e-7)}).described
    assert cells.disagreements(described) == []
    assert {cell: each.held_against for cell, each in described.items()} == {
        "tf@tf": "tf@tf", "jax@tf": "tf@tf", "jax@jax": "tf in float64", "tf@jax": "tf in float64"
    }  # fmt: skip
    assert (described["jax@jax"].error or 0) < 1e-6


def test_what_is_far_from_float64_too_computed_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    described = compiled_by(monkeypatch, {"tf": EXACT, "jax": EXACT * 0.991}).described
    assert [each.doing for each in cells.disagreements(described)] == ["cell jax@jax", "cell tf@jax"]
    assert "differ from tf@tf by 0.009" in cells.disagreements(described)[0].reason


def test_a_side_that_is_lost_over_float64_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compiled_by(monkeypatch, {"tf": EXACT * 0.991, "jax": EXACT}, lost="tf")
    assert [error.reason for error in found.lost] == ["it was killed"]
    assert len(cells.disagreements(found.described)) == 2
