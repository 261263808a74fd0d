"""Kinks are placed, not drawn by chance: whatever the size, each that can be told apart is there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from workloads.core.arrays import PATTERNS, draw_cases
from workloads.core.spec import Arrays, ArraySpec, Workload
from workloads.protocol.framework import is_kinks

SIZES = [(), (1,), (2,), (8,), (64,), (8, 8), (100, 3)]

SUBGRADIENTS: dict[str, Callable[[np.ndarray, np.ndarray], object]] = {
    "abs, relu, leaky relu: zero": lambda x, y: x == 0,
    "zeros of both signs": lambda x, y: np.signbit(x) & (x == 0) & ~np.signbit(y) & (y == 0),
    "maximum, minimum: a tie": lambda x, y: x == y,
    "a tie that is not at zero": lambda x, y: (x == y) & (x != 0),
    "clip: the lower edge": lambda x, y: x == -1,
    "clip: the upper edge": lambda x, y: x == 1,
    "unlike ends": lambda x, y: (x != y) & (np.abs(x) == np.abs(y)) & (x != 0),
    "a row of zeros": lambda x, y: not x.reshape(-1, x.shape[-1] if x.ndim else 1).any(axis=1).all(),
    "max over an axis: a tie": lambda x, y: x.size < 2 or len(np.unique(x)) < x.size,
}
"""What a port with another subgradient differs at."""


def kinks(**inputs: ArraySpec) -> list[Arrays]:
    port = Workload(name="port", tf="t:f", jax="j:f", inputs=inputs)
    return [arrays for case, arrays in draw_cases(port, {}, 1, None).items() if is_kinks(case)]


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("where", SUBGRADIENTS)
@pytest.mark.parametrize("names", [("x", "y"), ("a", "b"), ("logits", "labels")], ids=" ".join)
def test_every_subgradient_is_asked_for_at_every_size(
    shape: tuple[int, ...], where: str, names: tuple[str, str]
) -> None:
    cases = kinks(**{name: ArraySpec(shape) for name in names})
    assert any(np.any(SUBGRADIENTS[where](*case.values())) for case in cases)


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize(("low", "high"), [(0.0, 6.0), (-3.0, -1.0), (1e-3, 1.0)])
def test_both_ends_of_a_range_are_drawn_and_nothing_beyond(shape: tuple[int, ...], low: float, high: float) -> None:
    values = np.concatenate([case["x"].ravel() for case in kinks(x=ArraySpec(shape, low=low, high=high))])
    assert (values.min(), values.max()) == (np.float32(low), np.float32(high))


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize(
    ("spec", "ends"),
    [
        (ArraySpec((1,), "int32"), (0, 9)),
        (ArraySpec((1,), "int64", 3, 5), (3, 4)),
        (ArraySpec((1,), "uint64", 0, 2**64), (0, 2**64 - 1)),
        (ArraySpec((1,), "int8", -128, 128), (-128, 127)),
        (ArraySpec((1,), "bool"), (False, True)),
    ],
    ids=str,
)
def test_integers_are_the_first_and_the_last_of_their_range(
    shape: tuple[int, ...], spec: ArraySpec, ends: tuple[int, int]
) -> None:
    values = np.concatenate([case["n"].ravel() for case in kinks(n=ArraySpec(shape, spec.dtype, spec.low, spec.high))])
    assert (int(values.min()), int(values.max())) == ends
    assert values.dtype == spec.dtype


def test_small_inputs_have_a_case_of_each_kink_and_large_ones_one_that_has_all() -> None:
    assert len(kinks(x=ArraySpec((64,)))) == PATTERNS
    assert len(kinks(x=ArraySpec((65,)))) == 1
    assert len(kinks(x=ArraySpec((1,)), table=ArraySpec((100, 3)))) == 1


def test_equal_rows_follow_one_another() -> None:
    (case,) = kinks(x=ArraySpec((40, 5)))
    assert (case["x"][1:] == case["x"][:-1]).all(axis=1).any()
