"""Where rounding decides a case of kinks, both sides are judged beside it; where a rule decides, there."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from compare.hlo import bindings, disturbing
from compare.parity import Evidence, held_leaves, judge
from compare.prove.beside_ties import ASIDE, SPARED, judged_beside
from compare.prove.oracle import Doubles
from compare.prove.running import running
from compare.record.vocabulary import FAIL, PASS
from workloads._framework import Parameter, Program, Result, Twin

pytestmark = pytest.mark.usefixtures("programs_here")

FACTORS = (0.1, 0.2, 0.3, -0.6)
"""Of 1, 1, 1 and 1: the sum is 1.1e-16 in this order, and 0 where 0.2 and 0.3 come first."""
FIRST, OTHER = (0, 1, 2, 3), (1, 2, 0, 3)
EXACT = (0.25, 0.5, 0.25, -1.0)
"""Their sum is 0 in any order."""


def program(
    order: tuple[int, ...],
    factors: tuple[float, ...] = FACTORS,
    slope: float = 0.2,
    direction: str = "GT",
    weighted: bool = True,
) -> Program:
    """The gradient of a leaky relu of a weighted sum, which is added up in an order."""
    first, *others = order
    parts = "\n".join(
        f"  %p{at} = stablehlo.slice %p [{at}:{at + 1}] : (tensor<4xf64>) -> tensor<1xf64>" for at in range(4)
    )
    sums, total = "", f"%p{first}"
    for at in others:
        sums += f"  %s{at} = stablehlo.add {total}, %p{at} : tensor<1xf64>\n"
        total = f"%s{at}"
    text = f"""
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {{
  %c = stablehlo.constant dense<{list(factors)}> : tensor<4xf64>
  %p = stablehlo.multiply %x, %c : tensor<4xf64>
{parts}
{sums}
  %zero = stablehlo.constant dense<0.0> : tensor<1xf64>
  %full = stablehlo.constant dense<1.0> : tensor<1xf64>
  %less = stablehlo.constant dense<{slope}> : tensor<1xf64>
  %over = stablehlo.compare {direction}, {total}, %zero : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xi1>
  %slope = stablehlo.select %over, %full, %less : tensor<1xi1>, tensor<1xf64>
  %wide = stablehlo.broadcast_in_dim %slope, dims = [0] : (tensor<1xf64>) -> tensor<4xf64>
  %y = stablehlo.multiply %wide, {"%c" if weighted else "%wide"} : tensor<4xf64>
  return %y : tensor<4xf64>
}}"""
    signature = (Parameter("input", "x", (4,), "float64"),), (Result("y", (4,), "float64"),)
    return Program(bindings.artifact(text), *signature)


def judged(original: Program, port: Program, x: tuple[float, ...] = (1.0,) * 4) -> list[str]:
    """The gate of gradients at the kinks, and where they were judged beside the gate there."""
    twin = Twin("", False, {}, {"kinks": {"x": np.array(x)}}, {})
    programs = {("tf", "gradients"): original, ("jax", "gradients"): port}
    arrays = {
        (side, pass_, "kinks"): running(each, twin)([twin.cases["kinks"]])[0]
        for (side, pass_), each in programs.items()
    }
    evidence = Evidence("port", outputs={}, doubles=arrays)
    doubles = Doubles(arrays=arrays, programs=programs)
    found = judged_beside(twin, doubles, evidence, held_leaves(evidence))
    if found is doubles:
        return [judge(evidence).gates["gradients"].verdict]
    away = np.abs(found.cases["kinks"]["x"] - x)
    assert 0 < away.max() <= ASIDE and (away[np.array(x) == 0] == 0).all()
    assert "each number moved by up to 2e-05" in found.remarks[-1]
    beside = Evidence("port", outputs={}, doubles=found.arrays)
    return [judge(each).gates["gradients"].verdict for each in (evidence, beside)]


def test_an_honest_port_agrees_beside_a_tie_that_rounding_decides() -> None:
    assert judged(program(FIRST), program(OTHER)) == [FAIL, PASS]


def test_one_side_may_be_exact_where_the_other_is_not() -> None:
    # Of 24 bits, as a number that was kept in float32: these add up to 0 in any order.
    narrow = float(np.float32(0.1))
    exact = (narrow, 2 * narrow, 3 * narrow, -6 * narrow)
    assert judged(program(FIRST, exact, weighted=False), program(FIRST, weighted=False)) == [FAIL, PASS]
    assert judged(program(FIRST, weighted=False), program(FIRST, exact, weighted=False)) == [FAIL, PASS]


def test_a_wrong_slope_is_wrong_beside_the_tie_too() -> None:
    # A port that lies on the same side is wrong by its slope alone, and moved all the same.
    original = program(OTHER)
    assert FAIL in judged(original, program(FIRST, slope=0.3, direction="LE"))[-1:]


def test_what_a_rule_decides_is_judged_where_it_decides() -> None:
    assert judged(program(FIRST, EXACT), program(OTHER, EXACT)) == [PASS]
    assert judged(program(FIRST, EXACT), program(OTHER, EXACT, direction="GE")) == [FAIL]
    assert judged(program(FIRST, EXACT), program(OTHER, EXACT, slope=0.3)) == [FAIL]
    assert judged(program(FIRST), program(OTHER, direction="GE"), (0.0,) * 4) == [FAIL]


def test_round_numbers_are_left_as_they_are() -> None:
    def is_moved(factors: tuple[float, ...], x: list[float]) -> bool:
        whole, twin = program(FIRST, factors, slope=0.5), Twin("", False, {}, {}, {})
        moved = dataclasses.replace(whole, artifact=disturbing.disturbed(whole.artifact, 1e-9, spared=SPARED))
        ran = [running(each, twin)([{"x": np.array(x)}])[0]["y"] for each in (whole, moved)]
        return not np.array_equal(*ran)

    assert not is_moved(EXACT, [1.0, -0.5, 0.5, 1.0])
    assert is_moved(FACTORS, [1.0, -0.5, 0.5, 1.0])
