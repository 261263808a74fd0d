"""Elements of a training run that rounding moves may be off by as much, and no others."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from compare.hlo import bindings
from compare.parity import Evidence, held_leaves
from compare.parity.evidence import TRAJECTORY
from compare.parity.holding import Held
from compare.prove.moved_by_rounding import moved_by_rounding
from compare.prove.oracle import Doubles
from compare.prove.running import running
from compare.record.vocabulary import FAIL, PASS
from workloads._framework import STEP, Parameter, Program, Result, Twin
from workloads._spec import Arrays

pytestmark = pytest.mark.usefixtures("programs_here")

# Adam's first step by the gradient exp(x) - 1, from weights of 1: where it cancels, rounding says how far.
ADAM = """
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %one = stablehlo.constant dense<1.0> : tensor<4xf64>
  %e = stablehlo.exponential %x : tensor<4xf64>
  %gradient = stablehlo.subtract %e, %one : tensor<4xf64>
  %size = stablehlo.abs %gradient : tensor<4xf64>
  %tiny = stablehlo.constant dense<1.0e-7> : tensor<4xf64>
  %sum = stablehlo.add %size, %tiny : tensor<4xf64>
  %direction = stablehlo.divide %gradient, %sum : tensor<4xf64>
  %rate = stablehlo.constant dense<0.001> : tensor<4xf64>
  %change = stablehlo.multiply %direction, %rate : tensor<4xf64>
  %y = stablehlo.subtract %one, %change : tensor<4xf64>
  return %y : tensor<4xf64>
}"""
X = np.array([1e-8, 0.5, 1.0, 2.0])
CANCELS, SETTLED = 0, 1
WEIGHTS = 1 - 0.001 * np.expm1(X) / (np.expm1(X) + 1e-7)
LEAF = "weights@1/w"


class Counting:
    """Runs the step, and says how often it did."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, program: Program, _: str, cases: Sequence[str]) -> Mapping[str, Arrays]:
        self.runs += 1
        results = running(program, Twin("", False, {}, {"": {"x": X}}, {})).by_case([""])
        return {case: {LEAF: results[""]["y"]} for case in cases}


def trained(error: np.ndarray, dtype: str = "float32") -> Evidence:
    """Training runs of both sides, in both types; that of the port in one of them is off by an error."""
    runs = {
        (mode, kind): {LEAF: WEIGHTS.astype(kind)}
        for mode in ("tf/eager", "jax/jit")
        for kind in ("float64", "float32")
    }
    wrong: dict[tuple[str, str], Arrays] = {("jax/jit", dtype): {LEAF: (WEIGHTS + error).astype(dtype)}}
    return Evidence("port", outputs={}, doubles={}, trajectories={**runs, **wrong})


def at(element: int, error: float) -> np.ndarray:
    return np.where(np.arange(4) == element, error, 0.0)


def judged(evidence: Evidence) -> tuple[list[Held], int]:
    """What training holds in float32 once it is known what rounding moves, and how often the step was run for that."""
    signature = (Parameter("input", "x", (4,), "float64"),), (Result("y", (4,), "float64"),)
    doubles = Doubles(programs={("tf", STEP): Program(bindings.artifact(ADAM), *signature)})
    run = Counting()
    moved = moved_by_rounding(run, doubles, evidence, held_leaves(evidence))
    held = held_leaves(dataclasses.replace(evidence, moved=moved))["training"]
    return [leaf for leaf in held if leaf.place.case == TRAJECTORY], run.runs


def test_an_element_whose_gradient_cancels_is_left_out_and_the_leaf_is_listed() -> None:
    held, runs = judged(trained(at(CANCELS, 2e-5)))
    assert runs >= 2
    assert all(leaf.verdict == PASS for leaf in held)
    (left_out,) = [leaf for leaf in held if leaf.choices]
    assert f"without 1 of 4 elements of {LEAF}" in left_out.message
    assert left_out.error < 1e-7


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(at(SETTLED, 2e-5), id="at an element that rounding does not move"),
        pytest.param(at(SETTLED, 2e-5) + at(CANCELS, 2e-5), id="there, beside one that it does"),
        pytest.param(at(CANCELS, 5e-3), id="of several times what rounding moves"),
        pytest.param(WEIGHTS * 2.0**-9 * [1, -1, 1, -1], id="of bfloat16"),
    ],
)
def test_another_error_fails(error: np.ndarray) -> None:
    held, _ = judged(trained(error))
    assert any(leaf.verdict == FAIL for leaf in held)
    assert not any(leaf.choices for leaf in held)


@pytest.mark.parametrize(
    "evidence",
    [
        pytest.param(trained(np.zeros(4)), id="nothing is off"),
        pytest.param(trained(at(CANCELS, 2e-5), "float64"), id="float64 is off"),
        pytest.param(trained(at(CANCELS, 0.05)), id="more is off than rounding may explain"),
    ],
)
def test_no_step_is_run_where(evidence: Evidence) -> None:
    assert judged(evidence)[1] == 0
