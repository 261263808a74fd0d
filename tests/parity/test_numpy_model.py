"""Honest evidence from a small NumPy model with hand-written gradients, and that honest evidence passes.

Two sides that compute the same mathematics differ in the order of their sums, and so does each mode here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_model import (
    CASES,
    HONEST,
    ON_ARRAYS,
    ORDERS,
    Side,
    gathered,
    mapped,
    verdicts,
)

from compare.parity import Evidence, judge
from compare.record.vocabulary import NOT_APPLICABLE, PASS


def test_an_honest_port_passes_every_gate() -> None:
    parity = judge(HONEST)
    assert [c.message for gate in parity.gates.values() for c in gate.comparisons if c.verdict != PASS] == []
    assert verdicts(HONEST) == dict.fromkeys(ON_ARRAYS, PASS)
    assert parity.verdict == PASS
    assert parity.deviations == ()
    assert parity.oracle == {"forward": "tf native, jax native", "gradients": "tf native, jax native"}


def test_gates_come_in_the_order_of_the_record() -> None:
    assert tuple(judge(HONEST).gates) == ON_ARRAYS


@pytest.mark.parametrize("gate", ON_ARRAYS)
def test_every_gate_judged_every_mode_of_the_port(gate: str) -> None:
    judged = {comparison.found_from for comparison in judge(HONEST).gates[gate].comparisons}
    assert judged == (
        {"jax"} if gate == "semantics" else {"jax/eager", "jax/jit", "jax/donated", "jax/tuned"} | judged & {"jax"}
    )


def test_every_comparison_stands_beside_the_noise_of_tensorflow() -> None:
    for gate in judge(HONEST).gates.values():
        assert all(comparison.noise is not None for comparison in gate.comparisons)
    output = [c for c in judge(HONEST).gates["rounding"].comparisons if c.leaf == "output"]
    assert all(comparison.noise is not None and 0 < comparison.noise < 1e-6 for comparison in output)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_leaves_and_runs_decides_nothing(seed: int) -> None:
    random = np.random.default_rng(seed)

    def shuffled(runs: Mapping) -> dict:
        keys = list(runs)
        return {keys[i]: {n: runs[keys[i]][n] for n in random.permutation(list(runs[keys[i]]))} for i in order(keys)}

    def order(keys: list) -> np.ndarray:
        return random.permutation(len(keys))

    permuted = replace(
        HONEST,
        outputs=shuffled(HONEST.outputs),
        doubles=shuffled(HONEST.doubles),
        trajectories=shuffled(HONEST.trajectories),
    )
    assert judge(permuted) == judge(HONEST)


@settings(max_examples=8, deadline=None)
@given(exponent=st.integers(-40, 40), port=st.sampled_from([Side(), Side(epsilon=1.001e-3), Side(kernel_factor=1.01)]))
def test_scaling_by_a_power_of_two_decides_nothing(exponent: int, port: Side) -> None:
    factors = {"forward": 2.0**exponent, "gradients": 2.0**-exponent}
    evidence = gathered(port)
    assert verdicts(mapped(evidence, factors)) == verdicts(evidence)


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(st.floats(width=32), min_size=0, max_size=6),
    dtype=st.sampled_from(["float32", "float16", "int32", "bool"]),
)
def test_identical_evidence_passes(values: list[float], dtype: str) -> None:
    with np.errstate(invalid="ignore", over="ignore"):
        leaf = np.array(values, "float32").astype(dtype)
    run = {"leaf": leaf, "scalar": leaf.max() if leaf.dtype.kind == "f" and leaf.size else np.float32(1)}
    run = {name: np.asarray(array) for name, array in run.items()} | {"varies": np.float32([0, 1])}
    double = {n: a.astype("float64") if a.dtype.kind == "f" else a for n, a in run.items()}
    passes = [(pass_, case) for pass_ in ("forward", "gradients") for case in CASES]
    evidence = Evidence(
        workload="identical",
        outputs={(mode, *at): run for mode in ORDERS for at in passes},
        doubles={(side, *at): double for side in ("tf", "jax") for at in passes},
        not_applicable={"training": "the workload has no training"},
    )
    gradients = PASS if any(array.any() for array in run.values()) else NOT_APPLICABLE
    assert verdicts(evidence) == {**dict.fromkeys(ON_ARRAYS, PASS), "gradients": gradients, "training": NOT_APPLICABLE}
