"""What a rate in float32 explains of a training run is asked for without a program that is compiled anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from compare.hlo import bindings
from compare.parity import Evidence
from compare.parity.evidence import TRAJECTORY
from compare.prove import oracle
from compare.prove.oracle import Doubles
from jaxport._framework import Jax
from workloads._framework import STEP, Parameter, Program, Result, Twin
from workloads._spec import Arrays

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


def explained(program: Program, constants: bool) -> tuple[dict[Any, float], int]:
    """The spreads, and how many programs were run for them."""
    ran: set[bytes] = set()

    def run(asked: Program, _: str, cases: Sequence[str]) -> dict[str, Arrays]:
        ran.add(asked.artifact)
        return {case: {LEAF: np.ones(2) + asked.states["rate"]} for case in cases}

    leaves = {LEAF: np.ones(2)}
    evidence = Evidence("port", outputs={}, doubles={}, trajectories={("tf/graph", "float64"): leaves})
    doubles = Doubles(programs={("tf", STEP): program})
    found = oracle.explain_by_constants(run, doubles, evidence, [(STEP, TRAJECTORY)], constants)
    return found, len(ran)


def test_a_rate_is_moved_in_one_program() -> None:
    found, programs = explained(step(ROUNDED), constants=False)
    assert programs == 1
    assert 0 < found[STEP, TRAJECTORY, LEAF, 0] < 2**-23


@pytest.mark.parametrize(("number", "programs"), [(ROUND, 1), (ROUNDED, 1 + oracle.PERTURBATIONS)])
def test_constants_that_are_rounded_are_moved_on_request(number: str, programs: int) -> None:
    assert explained(step(number), constants=True)[1] == programs


def test_without_anything_rounded_nothing_is_run() -> None:
    assert explained(step(ROUND, rate="float64"), constants=True) == ({}, 0)


def test_a_program_that_differs_in_states_alone_is_compiled_once() -> None:
    side = Jax()
    side._loaded.load(Twin("", False, {}, {}, {}))
    one, other = step(ROUND), step(ROUND)
    handles = [side.compile(each, {}).handle for each in (one, other, step(ROUNDED))]
    programs = [side._loaded.compiled(handle) for handle in handles]
    assert programs[0][1] is programs[1][1] is not programs[2][1]
    assert [program for program, _ in programs[:2]] == [one, other]
