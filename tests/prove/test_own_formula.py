"""Where values of the original cancel, rounding explains an error; it explains none where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from compare.hlo import bindings
from compare.parity import Evidence, held_leaves
from compare.prove.oracle import Doubles
from compare.prove.own_formula import LARGEST, explain_by_formula
from compare.prove.running import running
from workloads.core.spec import Arrays
from workloads.protocol.framework import Parameter, Program, Result, Twin

pytestmark = pytest.mark.usefixtures("programs_here")

SHAPE = (4,)
ORDINARY = np.array([0.5, 1.0, 2.0, 3.0])


def program(body: str) -> Program:
    text = f"""
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {{
  %one = stablehlo.constant dense<1.0> : tensor<4xf64>
{body}
  return %y : tensor<4xf64>
}}"""
    signature = (Parameter("input", "x", SHAPE, "float64"),), (Result("y", SHAPE, "float64"),)
    return Program(bindings.artifact(text), *signature)


CANCELLING = """
  %e = stablehlo.exponential %x : tensor<4xf64>
  %y = stablehlo.subtract %e, %one : tensor<4xf64>"""
PLAIN = "%y = stablehlo.exponential %x : tensor<4xf64>"


def spread(body: str, x: np.ndarray, original: np.ndarray, error: float, ordinary: float | None = None) -> float:
    """The largest spread that explains a port which is off by so much of the largest value, in float64.

    Args:
      ordinary: the largest value at the workload's own size; None where this is it, and another case has larger ones.
    """
    first = original if ordinary is not None else np.exp(ORDINARY)
    cases = {"seed0": {"x": ORDINARY if ordinary is None else x}, "seed1": {"x": x}}
    values: dict[str, Arrays] = {"seed0": {"y": first}, "seed1": {"y": original}}
    wrong = original.copy()
    wrong[0] += error * np.abs(original).max()
    evidence = Evidence(
        workload="port",
        outputs={(mode, "forward", case): {"y": np.float32(run["y"])} for mode in ("tf/eager", "jax/jit")
                 for case, run in values.items()},
        doubles={("tf", "forward", case): run for case, run in values.items()}
        | {("jax", "forward", "seed0"): values["seed0"], ("jax", "forward", "seed1"): {"y": wrong}},
        ordinary={} if ordinary is None else {("forward", "y"): ordinary},
    )  # fmt: skip
    twin = Twin("", False, {}, cases, {})
    doubles = Doubles(programs={("tf", "forward"): program(body)})

    def run(program: Program, _: str, cases: Sequence[str]) -> Mapping[str, Arrays]:
        return running(program, twin).by_case(cases)

    return max(explain_by_formula(run, doubles, evidence, held_leaves(evidence)).values(), default=0.0)


def test_what_cancels_explains_an_error_of_its_size() -> None:
    x = np.linspace(1e-5, 2e-5, 4)
    assert 4e-12 < spread(CANCELLING, x, np.expm1(x), 1e-11) < 4e-10


def test_what_does_not_cancel_explains_nothing() -> None:
    assert spread(PLAIN, ORDINARY, np.exp(ORDINARY), 1e-11) <= 2**-50


@pytest.mark.parametrize("error", [1e-5, 0.1, 1.0])
def test_a_large_error_asks_for_no_explanation(error: float) -> None:
    x = np.full(4, 1e-5)
    assert spread(CANCELLING, x, np.expm1(x), error) == 0.0
    assert error > LARGEST["float64"]


def test_a_leaf_that_vanishes_is_explained_whatever_its_error() -> None:
    x = np.linspace(1e-16, 2e-16, 4)
    assert spread(CANCELLING, x, np.exp(x) - 1 + 1e-17, 1.0) > 0.1


VANISHING = """
  %e = stablehlo.exponential %x : tensor<4xf64>
  %f = stablehlo.multiply %e, %one : tensor<4xf64>
  %y = stablehlo.subtract %e, %f : tensor<4xf64>"""


def test_where_all_cancels_what_is_explained_is_relative_to_what_the_framework_found() -> None:
    # XLA gives exactly 0 here, and a rounding of the formula is little beside 1.
    assert spread(VANISHING, ORDINARY, np.full(4, 2e-16), 0.5) > 0.5


@pytest.mark.parametrize(("ordinary", "explains"), [(1.0, True), (1e-15, False)])
def test_what_vanishes_at_one_size_is_told_by_what_is_ordinary_at_another(ordinary: float, explains: bool) -> None:
    assert (spread(VANISHING, ORDINARY, np.full(4, 2e-16), 0.5, ordinary) > 0.5) is explains
