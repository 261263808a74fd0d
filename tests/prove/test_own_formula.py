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


def spread(
    body: str,
    x: np.ndarray,
    original: np.ndarray,
    error: float,
    ordinary: float | None = None,
    gradient: float | None = None,
) -> float:
    """The largest spread that explains a port which is off by so much of the largest value, in float64.

    Args:
      ordinary: the largest value at the workload's own size; None where this is it, and another case has larger ones.
      gradient: another gradient of the same pass; None for a forward pass.
    """
    pass_, others = ("forward", {}) if gradient is None else ("gradients", {"z": np.full(1, gradient)})
    first = original if ordinary is not None else np.exp(ORDINARY)
    cases = {"seed0": {"x": ORDINARY if ordinary is None else x}, "seed1": {"x": x}}
    values: dict[str, Arrays] = {"seed0": {"y": first, **others}, "seed1": {"y": original, **others}}
    wrong = original.copy()
    wrong[0] += error * np.abs(original).max()
    evidence = Evidence(
        workload="port",
        outputs={(mode, pass_, case): {leaf: np.float32(array) for leaf, array in run.items()}
                 for mode in ("tf/eager", "jax/jit") for case, run in values.items()},
        doubles={("tf", pass_, case): run for case, run in values.items()}
        | {("jax", pass_, "seed0"): values["seed0"], ("jax", pass_, "seed1"): {"y": wrong, **others}},
        ordinary={} if ordinary is None else {(pass_, "y"): ordinary},
    )  # fmt: skip
    twin = Twin("", False, {}, cases, {})
    doubles = Doubles(programs={("tf", pass_): program(body)})

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


@pytest.mark.parametrize(("gradient", "explains"), [(1.0, True), (1e-9, False)])
def test_a_gradient_that_is_noise_in_every_case_is_told_by_the_other_gradients(gradient: float, explains: bool) -> None:
    # A bias before a normalization: all its values are noise, at every size and in every case.
    noise = np.full(4, 2e-14)
    assert (spread(VANISHING, ORDINARY, noise, 2.0, ordinary=2e-14, gradient=gradient) > 0.1) is explains


def test_a_gradient_that_is_small_and_no_noise_is_explained_by_nothing() -> None:
    small = 1e-11 * np.exp(ORDINARY)
    body = """
  %c = stablehlo.constant dense<1.0e-11> : tensor<4xf64>
  %e = stablehlo.exponential %x : tensor<4xf64>
  %y = stablehlo.multiply %e, %c : tensor<4xf64>"""
    assert spread(body, ORDINARY, small, 1.0, ordinary=1e-11, gradient=10.0) <= 2**-48


@pytest.mark.parametrize(("gradient", "explains"), [(1.0, True), (1e-9, False)])
def test_where_all_is_noise_that_of_each_mode_of_tensorflow_counts(gradient: float, explains: bool) -> None:
    # XLA gives exactly 0, and eager mode noise far above a rounding of the formula: the port's 0 is as right.
    zero = "%y = stablehlo.subtract %x, %x : tensor<4xf64>"
    assert (spread(zero, ORDINARY, np.full(4, 6e-13), 1.0, ordinary=6e-13, gradient=gradient) > 1.0) is explains
