"""Where rounding decides a case of kinks, both sides are judged beside it; where a rule decides, there."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

from compare.hlo import bindings, disturbing
from compare.parity import Evidence, held_leaves, judge
from compare.prove.beside_ties import ASIDE, SPARED, Specs, judge_beside_ties
from compare.prove.oracle import Doubles
from compare.prove.running import running
from compare.record.vocabulary import FAIL, PASS
from workloads.core.spec import Arrays, ArraySpec
from workloads.protocol.framework import Parameter, Program, Result, Twin

pytestmark = pytest.mark.usefixtures("programs_here")

FACTORS = (0.1, 0.2, 0.3, -0.6)
"""Of 1, 1, 1 and 1: the sum is 1.1e-16 in this order, and 0 where 0.2 and 0.3 come first."""
FIRST, OTHER = (0, 1, 2, 3), (1, 2, 0, 3)
UNTRAINED = "moving_mean"
"""What a program returns, and its framework does not."""
EXACT = (0.25, 0.5, 0.25, -1.0)
"""Their sum is 0 in any order."""


@dataclass(frozen=True)
class Slope:
    """The gradient of a leaky relu of a weighted sum, which is added up in an order."""

    order: tuple[int, ...]
    factors: tuple[float, ...] = FACTORS
    slope: float = 0.2
    direction: str = "GT"
    weighted: bool = True
    scaled_twice: bool = False

    def lines(self, at: int) -> str:
        """StableHLO whose last value is %y and the number."""
        first, *others = self.order
        lines = [
            f"%c{at} = stablehlo.constant dense<{list(self.factors)}> : tensor<4xf64>",
            f"%w{at} = stablehlo.multiply %x, %c{at} : tensor<4xf64>",
        ]
        for name, other in (("three", 0.3), ("seven", 0.7)):
            lines.append(f"%{name}{at} = stablehlo.constant dense<{other}> : tensor<4xf64>")
        products = f"stablehlo.multiply %w{at}, %three{at}", f"stablehlo.divide %m{at}, %seven{at}"
        lines += [f"%m{at} = {products[0]} : tensor<4xf64>", f"%n{at} = {products[1]} : tensor<4xf64>"]
        addends = f"%n{at}" if self.scaled_twice else f"%w{at}"
        lines += [
            f"%p{at}_{k} = stablehlo.slice {addends} [{k}:{k + 1}] : (tensor<4xf64>) -> tensor<1xf64>" for k in range(4)
        ]
        total = f"%p{at}_{first}"
        for other in others:
            lines.append(f"%s{at}_{other} = stablehlo.add {total}, %p{at}_{other} : tensor<1xf64>")
            total = f"%s{at}_{other}"
        compared = f"stablehlo.compare {self.direction}, {total}, %zero{at}"
        return "\n".join(
            [
                *lines,
                f"%zero{at} = stablehlo.constant dense<0.0> : tensor<1xf64>",
                f"%full{at} = stablehlo.constant dense<1.0> : tensor<1xf64>",
                f"%less{at} = stablehlo.constant dense<{self.slope}> : tensor<1xf64>",
                f"%over{at} = {compared} : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xi1>",
                f"%slope{at} = stablehlo.select %over{at}, %full{at}, %less{at} : tensor<1xi1>, tensor<1xf64>",
                f"%wide{at} = stablehlo.broadcast_in_dim %slope{at}, dims = [0] : (tensor<1xf64>) -> tensor<4xf64>",
                f"%y{at} = stablehlo.multiply %wide{at}, %{'c' if self.weighted else 'wide'}{at} : tensor<4xf64>",
            ]
        )


def program(*slopes: Slope) -> Program:
    """Gradients of the same inputs, in one leaf."""
    count = 4 * len(slopes)
    ys, types = (
        ", ".join(each) for each in ([f"%y{at}" for at in range(len(slopes))], ["tensor<4xf64>"] * len(slopes))
    )
    lines = "\n".join(slope.lines(at) for at, slope in enumerate(slopes))
    text = f"""
func.func @main(%x: tensor<4xf64>) -> (tensor<{count}xf64>, tensor<4xf64>) {{
  {lines}
  %y = stablehlo.concatenate {ys}, dim = 0 : ({types}) -> tensor<{count}xf64>
  return %y, %x : tensor<{count}xf64>, tensor<4xf64>
}}"""
    results = (Result("y", (count,), "float64"), Result(UNTRAINED, (4,), "float64"))
    return Program(bindings.artifact(text), (Parameter("input", "x", (4,), "float64"),), results)


def gradient(
    order: tuple[int, ...], factors: tuple[float, ...] = FACTORS, *, of: float = 0.2, by: str = "GT"
) -> Program:
    """That of one."""
    return program(Slope(order, factors, of, by))


def judged(
    original: Program,
    port: Program,
    x: tuple[float, ...] = (1.0,) * 4,
    specs: Specs = MappingProxyType({}),
    native: Program | None = None,
) -> list[str | None]:
    """The gate of gradients at the kinks, and where rounding decides some of it, without that and beside it."""
    twin = Twin("", False, {}, {"kinks": {"x": np.array(x)}}, {})
    programs = {("tf", "gradients"): original, ("jax", "gradients"): port}
    arrays: dict[tuple[str, str, str], Arrays] = {
        (side, pass_, "kinks"): {"y": running(each, twin)([twin.cases["kinks"]])[0]["y"]}
        for (side, pass_), each in programs.items()
    }
    if native is not None:
        arrays["tf", "gradients", "kinks"] = {"y": running(native, twin)([twin.cases["kinks"]])[0]["y"]}
    evidence = Evidence("port", outputs={}, doubles=arrays)
    doubles = Doubles(arrays=arrays, programs=programs)
    found = judge_beside_ties(twin, specs, doubles, evidence, held_leaves(evidence))
    if found is doubles:
        return [judge(evidence).gates["gradients"].verdict]
    moved = found.cases["kinks beside"]["x"]
    away = np.abs(moved - x)
    assert 0 < away.max() <= ASIDE and (away[np.array(x) == 0] == 0).all()
    assert all(spec.low <= moved.min() and moved.max() <= spec.high for spec in specs.values())  # type: ignore[operator]
    assert "elements are decided by rounding" in found.remarks[-1]
    beside = Evidence("port", outputs={}, doubles=found.arrays)
    return [judge(each).gates["gradients"].verdict for each in (evidence, beside)]


def test_an_honest_port_agrees_beside_a_tie_that_rounding_decides() -> None:
    assert judged(gradient(FIRST), gradient(OTHER)) == [FAIL, PASS]


def test_one_side_may_be_exact_where_the_other_is_not() -> None:
    # Of 24 bits, as a number that was kept in float32: these add up to 0 in any order.
    narrow = float(np.float32(0.1))
    exact = program(Slope(FIRST, (narrow, 2 * narrow, 3 * narrow, -6 * narrow), weighted=False))
    rounded = program(Slope(FIRST, weighted=False))
    assert judged(exact, rounded) == [FAIL, PASS]
    assert judged(rounded, exact) == [FAIL, PASS]


def test_a_wrong_slope_is_wrong_beside_the_tie_too() -> None:
    # A port that lies on the same side is wrong by its slope alone, and moved all the same.
    assert FAIL in judged(gradient(OTHER), gradient(FIRST, of=0.3, by="LE"))[-1:]


def test_what_a_rule_decides_is_judged_where_it_decides() -> None:
    assert judged(gradient(FIRST, EXACT), gradient(OTHER, EXACT)) == [PASS]
    assert judged(gradient(FIRST, EXACT), gradient(OTHER, EXACT, by="GE")) == [FAIL]
    assert judged(gradient(FIRST, EXACT), gradient(OTHER, EXACT, of=0.3)) == [FAIL]
    assert judged(gradient(FIRST), gradient(OTHER, by="GE"), (0.0,) * 4) == [FAIL]


def test_an_element_that_rounding_decides_excuses_no_other_of_its_leaf() -> None:
    decided = Slope(FIRST), Slope(OTHER)
    rule, wrong = Slope(FIRST, EXACT), Slope(FIRST, EXACT, direction="GE")
    assert judged(program(decided[0], rule), program(decided[1], rule)) == [FAIL, PASS]
    assert judged(program(decided[0], rule), program(decided[1], wrong)) == [FAIL]
    assert judged(program(decided[0], rule), program(decided[0], wrong)) == [FAIL]


def test_roundings_of_the_port_alone_excuse_no_rule_of_its_own() -> None:
    needless = Slope(FIRST, EXACT, scaled_twice=True)
    assert judged(program(Slope(FIRST, EXACT)), program(dataclasses.replace(needless, direction="GE"))) == [FAIL]


def test_what_the_original_s_framework_gives_and_its_program_does_not_is_no_rounding() -> None:
    by_xla = gradient(FIRST, EXACT, by="GE")
    assert judged(by_xla, by_xla, native=gradient(FIRST, EXACT)) == [FAIL]


def test_numbers_are_moved_within_their_range() -> None:
    specs = {"x": ArraySpec((4,), "float64", 0.0, 1.0)}
    assert judged(gradient(FIRST), gradient(OTHER), specs=specs) == [FAIL, PASS]


def test_round_numbers_are_left_as_they_are() -> None:
    def is_moved(factors: tuple[float, ...], x: list[float]) -> bool:
        whole, twin = gradient(FIRST, factors, of=0.5), Twin("", False, {}, {}, {})
        moved = dataclasses.replace(whole, artifact=disturbing.disturb(whole.artifact, 1e-9, spared_bits=SPARED))
        ran = [running(each, twin)([{"x": np.array(x)}])[0]["y"] for each in (whole, moved)]
        return bool((ran[0] != ran[1]).any())

    assert not is_moved(EXACT, [1.0, -0.5, 0.5, 1.0])
    assert is_moved(FACTORS, [1.0, -0.5, 0.5, 1.0])
