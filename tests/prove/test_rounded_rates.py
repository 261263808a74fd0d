"""What rounded rates and constants explain of a training run is measured in one program for all that moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from compare.hlo import bindings
from compare.parity import Evidence
from compare.parity.evidence import TRAJECTORY
from compare.prove.oracle import Doubles
from compare.prove.rounded_constants import ConstantSpreads
from jaxport._framework import Jax
from workloads.core.spec import Arrays
from workloads.protocol.framework import STEP, Parameter, Program, Result, Twin

TEXT = """
func.func @main(%w: tensor<2xf64>, %rate: tensor<f64>) -> tensor<2xf64> {{
  %c = stablehlo.constant dense<{number}> : tensor<2xf64>
  %each = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f64>) -> tensor<2xf64>
  %one = stablehlo.multiply %each, %c : tensor<2xf64>
  %y = stablehlo.add %w, %one : tensor<2xf64>
  return %y : tensor<2xf64>
}}"""
ROUND, ROUNDED = "0.5", "0.10000000149011612"
LEAF = "weights@1/w"


def step(number: str, rate: str = "float32") -> Program:
    signature = Parameter("weight", "w", (2,), "float64"), Parameter("state", "rate", (), "float64")
    results = (Result("weight/w", (2,), "float64"),)
    artifact = bindings.artifact(TEXT.format(number=number))
    return Program(artifact, signature, results, {"rate": np.array(0.1, rate)})


ROUNDINGS = 3


def explained(program: Program, constants: bool, roundings: int = ROUNDINGS) -> tuple[dict[Any, float], list[Program]]:
    """The spreads after some roundings, and the programs that were run for them."""
    ran: list[Program] = []

    def run(program: Program, _: str, cases: Sequence[str]) -> dict[str, Arrays]:
        ran.append(program)
        return {case: {LEAF: np.ones(2) + sum(program.states.values())} for case in cases}

    leaves = {LEAF: np.ones(2)}
    evidence = Evidence("port", outputs={}, doubles={}, trajectories={("tf/graph", "float64"): leaves})
    doubles = Doubles(programs={("tf", STEP): program})
    spreads = ConstantSpreads(evidence, constants)
    for seed in range(roundings - 1):
        spreads.measure(run, doubles, [(STEP, TRAJECTORY)], seed)
    return spreads.measure(run, doubles, [(STEP, TRAJECTORY)], roundings - 1), ran


@pytest.mark.parametrize("constants", [False, True])
def test_all_that_moves_moves_in_one_program(constants: bool) -> None:
    found, ran = explained(step(ROUNDED), constants)
    assert len(ran) == 1 + ROUNDINGS
    assert len({program.artifact for program in ran}) == 1
    assert 0 < found[STEP, TRAJECTORY, LEAF, 0] < 2**-23


@pytest.mark.parametrize(("number", "moving"), [(ROUND, {"rate"}), (ROUNDED, {"rate", "constant/0"})])
def test_constants_that_are_rounded_are_moved_on_request(number: str, moving: set[str]) -> None:
    base, *others = (program.states for program in explained(step(number), constants=True)[1])
    assert base.keys() == moving
    for states in others:
        assert all(0 < abs(states[name] / base[name] - 1) <= 2**-24 for name in moving)


def test_each_rounding_can_only_widen_what_is_explained() -> None:
    once, often = (explained(step(ROUNDED), constants=True, roundings=times)[0] for times in (1, 8))
    assert once[STEP, TRAJECTORY, LEAF, 0] < often[STEP, TRAJECTORY, LEAF, 0]


def test_without_anything_rounded_nothing_is_run() -> None:
    assert explained(step(ROUND, rate="float64"), constants=True) == ({}, [])


def test_a_program_that_differs_in_states_alone_is_compiled_once() -> None:
    side = Jax()
    side._loaded.load(Twin("", False, {}, {}, {}))
    one, other = step(ROUND), step(ROUND)
    handles = [side.compile(each, {}).handle for each in (one, other, step(ROUNDED))]
    programs = [side._loaded.compiled(handle) for handle in handles]
    assert programs[0][1] is programs[1][1] is not programs[2][1]
    assert [program for program, _ in programs[:2]] == [one, other]
