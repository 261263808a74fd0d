"""The main pass of parts that are compiled each on its own, as a mode of both sides: judged, and more kernels."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy_model import HONEST

from compare.bench.timing import WITHIN
from compare.parity import judge
from compare.record.vocabulary import FAIL
from jaxport._framework import Jax
from tf_reference._framework import TensorFlow
from workloads.protocol.framework import FORWARD, Twin, Unsupported

X = np.linspace(-2, 2, 4096, dtype=np.float32)
SIDES = {"tf": (TensorFlow, "in_parts:in_tensorflow"), "jax": (Jax, "in_parts:in_jax")}


def loaded(side: str, target: str = "") -> Any:
    make, usual = SIDES[side]
    framework = make()
    framework.told = framework.load(Twin(target or usual, True, {}, {"seed0": {"x": X}}, {}))
    return framework


@pytest.mark.parametrize("side", SIDES)
def test_parts_give_what_the_whole_gives_in_a_mode_of_the_main_pass_alone(side: str) -> None:
    framework = loaded(side)
    assert [pass_ for pass_, modes in framework.told["modes"].items() if "apart" in modes] == [FORWARD]
    whole, parts = (framework.outputs(mode, FORWARD, "seed0", "float32") for mode in ("jit", "apart"))
    np.testing.assert_allclose(parts["output"], whole["output"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("side", "target"), [("tf", "in_parts:nothing_in_tensorflow"), ("jax", "in_parts:nothing_in_jax")]
)
def test_parts_are_what_is_timed_in_their_mode_and_the_whole_in_any_other(side: str, target: str) -> None:
    framework = loaded(side, target)
    for mode, called in (("eager", X), ("jit", X), ("apart", 0 * X)):
        np.testing.assert_array_equal(framework.prepare(mode).call()["output"], called)


@pytest.mark.parametrize("side", SIDES)
def test_parts_are_more_kernels_than_the_whole(side: str) -> None:
    framework = loaded(side)
    whole, parts = (max(len(runs) for runs in framework.profile(mode)) for mode in ("jit", "apart"))
    assert parts > whole > 0, [run.name for run in framework.profile("apart")[0]]


@pytest.mark.parametrize(("side", "target"), [("tf", "tf_reference.add:build"), ("jax", "jaxport.add:build")])
def test_a_twin_that_hands_over_none_has_no_such_mode(side: str, target: str) -> None:
    framework = SIDES[side][0]()
    arrays = {"a": X, "b": X}
    told = framework.load(Twin(target, True, {}, {"seed0": arrays}, {}))
    assert all("apart" not in modes for modes in told["modes"].values())
    with pytest.raises(Unsupported, match=r"expected Model\.apart, found none"):
        framework.outputs("apart", FORWARD, "seed0", "float32")


@pytest.mark.parametrize("mode", ["tf/apart", "jax/apart"])
def test_parts_that_are_off_fail_the_rounding_gate(mode: str) -> None:
    off = {
        (mode, pass_, case): {leaf: array * array.dtype.type(1.01) for leaf, array in run.items()}
        for (ran, pass_, case), run in HONEST.outputs.items()
        if (ran, pass_) == ("tf/jit", FORWARD)
    }
    gate = judge(dataclasses.replace(HONEST, outputs={**HONEST.outputs, **off})).gates["rounding"]
    assert {each.found_from for each in gate.comparisons if each.verdict == FAIL} == {mode}


def test_both_are_held_against_the_whole() -> None:
    pairs = {str(pair) for pair in WITHIN}
    assert {"tf/jit vs tf/apart", "jax/jit vs jax/apart"} <= pairs
