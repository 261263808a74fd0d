"""Bit-equal means every bit of every leaf, in both passes and every case, and nothing less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compare.parity import Evidence
from compare.parity.identical import bit_equal

X = {"x": np.array([1.0, -0.0, np.nan], np.float32)}
RUNS = [(pass_, case) for pass_ in ("forward", "gradients") for case in ("seed0", "kinks")]
SAME = Evidence("f", {(mode, *run): X for mode in ("tf/eager", "tf/jit", "jax/jit") for run in RUNS}, {})


def test_equal_bits_are_equal() -> None:
    assert bit_equal(SAME) == ("tf/eager", "tf/jit")


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    "other",
    [
        {"x": np.array([np.nextafter(np.float32(1), np.float32(2)), -0.0, np.nan], np.float32)},
        {"x": np.array([1.0, 0.0, np.nan], np.float32)},  # equal, and another bit
        {"x": X["x"].astype(np.float64)},
        {"x": X["x"][None]},
        {"y": X["x"]},
        {},
    ],
)
def test_one_bit_type_shape_or_name_is_enough(run: tuple[str, str], other: dict[str, np.ndarray]) -> None:
    assert bit_equal(replace(SAME, outputs={**SAME.outputs, ("tf/eager", *run): other})) == ("tf/jit",)


def test_a_mode_that_lacks_a_case_is_not_equal() -> None:
    outputs = {key: arrays for key, arrays in SAME.outputs.items() if key != ("tf/jit", "gradients", "kinks")}
    assert bit_equal(replace(SAME, outputs=outputs)) == ("tf/eager",)


def test_without_a_port_nothing_is_equal() -> None:
    assert bit_equal(replace(SAME, outputs={("tf/eager", *run): X for run in RUNS})) == ()
