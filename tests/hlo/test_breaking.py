"""The first operation that breaks is found in the port's own program, with its line."""

from __future__ import annotations

import numpy as np
import pytest

from compare.hlo import bindings
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.breaking import first_broken
from compare.hlo.levels import Subject
from compare.hlo.promote import promote

UNIT = 2.0**-24


def blamed(body: str, far: float, near: float = 0.5) -> str:
    artifact = bindings.artifact(f"""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<4xf32>
  %no = stablehlo.constant dense<[true, true, true, false]> : tensor<4xi1>
{body}
  return %y : tensor<4xf32>
}}""")
    subjects = [Subject("jax", hlo_of_artifact(each)) for each in (artifact, promote(artifact))]
    arguments = [[np.full(4, value, np.float32)] for value in (far, near)]
    found = first_broken(*subjects, 0, *arguments, UNIT)
    return found.opcode if found else ""


SOFTPLUS = """
  %e = stablehlo.exponential %x : tensor<4xf32>
  %s = stablehlo.add %one, %e : tensor<4xf32>
  %y = stablehlo.log %s : tensor<4xf32>"""


@pytest.mark.parametrize(("far", "opcode"), [(1000.0, "exponential"), (-16.0, "log"), (1.0, "")])
def test_overflow_and_lost_digits_are_told_apart(far: float, opcode: str) -> None:
    assert blamed(SOFTPLUS, far) == opcode


def test_an_infinity_that_is_meant_to_be_is_not_blamed() -> None:
    masked = """
  %m = stablehlo.select %no, %x, %lowest : tensor<4xi1>, tensor<4xf32>
  %e = stablehlo.exponential %m : tensor<4xf32>
  %y = stablehlo.multiply %e, %e : tensor<4xf32>"""
    assert blamed(masked, 50.0) == "multiply"
