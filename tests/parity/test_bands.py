"""A fill value beside values hides no error, and rounding noise beside values raises no alarm."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.parity import Evidence, judge
from compare.parity.bands import GAP, bands_of
from compare.record.vocabulary import FAIL, PASS

LOWEST = float(np.finfo(np.float32).min)
FILLS = [-1e9, LOWEST, 1e30, -np.inf]
VALUES = np.random.default_rng(0).standard_normal(16).astype(np.float32)


def verdicts(original: np.ndarray, port: np.ndarray, exact: np.ndarray, ported: np.ndarray) -> dict[str, str]:
    """By gate: both sides in float32, and both in float64."""
    at = ("forward", "seed0")
    evidence = Evidence(
        workload="tiny",
        outputs={("tf/eager", *at): {"y": original}, ("jax/jit", *at): {"y": port}},
        doubles={("tf", *at): {"y": exact}, ("jax", *at): {"y": ported}},
    )
    return {name: gate.verdict for name, gate in judge(evidence).gates.items()}


def masked(values: np.ndarray, fill: float, dtype: str = "float64") -> np.ndarray:
    return np.concatenate([values, np.full(4, fill)]).astype(dtype)


@pytest.mark.parametrize("fill", FILLS)
def test_an_error_beside_a_fill_value_fails(fill: float) -> None:
    right, wrong = masked(VALUES, fill), masked(VALUES + 7.0 * (np.arange(16) == 3), fill)
    found = verdicts(right.astype("float32"), wrong.astype("float32"), right, wrong)
    assert (found["semantics"], found["rounding"]) == (FAIL, FAIL)


@pytest.mark.parametrize("fill", FILLS)
def test_an_error_of_a_rounding_beside_a_fill_value_passes(fill: float) -> None:
    exact = masked(VALUES.astype("float64") * (1 + 1e-9), fill)
    port = masked(VALUES * np.float32(1 + 2**-23), fill, "float32")
    found = verdicts(exact.astype("float32"), port, exact, exact * (1 + 1e-15))
    assert (found["semantics"], found["rounding"]) == (PASS, PASS)


@pytest.mark.parametrize("fill", FILLS[1:3])
def test_a_mask_of_zeros_and_a_fill_value_is_exact(fill: float) -> None:
    right, wrong = masked(np.zeros(4), fill), masked(np.array([0, 0, 7.0, 0]), fill)
    found = verdicts(right.astype("float32"), wrong.astype("float32"), right, wrong)
    assert (found["semantics"], found["rounding"]) == (FAIL, FAIL)
    assert verdicts(right.astype("float32"), right.astype("float32"), right, right)["semantics"] == PASS


def test_noise_of_larger_values_is_measured_with_them() -> None:
    """Sums that cancel: nobody's float64 agrees on what is left, and float32 leaves a thousand million times more."""
    values = VALUES.astype("float64")
    exact, ported = (np.concatenate([values, noise * np.ones(4)]) for noise in (3e-17, -8e-17))
    original, port = (np.concatenate([VALUES, noise * np.ones(4, "float32")]) for noise in (6e-8, np.float32(0)))
    found = verdicts(original, port.astype("float32"), exact, ported)
    assert (found["semantics"], found["rounding"]) == (PASS, PASS)


def test_what_cancels_to_a_few_digits_is_noise_and_excuses_nothing_else() -> None:
    """A difference of which float32 keeps three digits: float64 keeps twelve, fewer than the bound asks for."""
    exact = np.concatenate([VALUES.astype("float64"), np.full(4, 1e-9)])
    original = np.concatenate([VALUES, np.full(4, 1.001e-9, "float32")])
    assert len(bands_of(exact, [original], 0.0)) == 1
    port = np.concatenate([VALUES * np.float32(1 + 1e-4), np.full(4, 1e-9, "float32")])
    assert verdicts(original, port, exact, exact)["rounding"] == FAIL


def test_the_errors_of_one_group_excuse_none_in_another() -> None:
    exact = np.concatenate([VALUES.astype("float64"), np.full(4, 1e-12)])
    original = np.concatenate([VALUES, np.full(4, 1.0004e-12, "float32")])
    port = np.concatenate([VALUES * np.float32(1 + 1e-4), np.full(4, 1e-12, "float32")])
    assert len(bands_of(exact, [original], 0.0)) == 2
    assert verdicts(original, port, exact, exact)["rounding"] == FAIL


def test_three_groups_are_told_apart() -> None:
    exact = np.array([1e-20, 3e-20, 1.0, 2.0, 0.0, -1e30, np.nan])
    bands = bands_of(exact, [exact.astype("float32")], 0.0)
    assert [band.scale for band in bands] == [1e30, 2.0, 3e-20]
    members = [set() if band.others is None else set(np.flatnonzero(~band.others).tolist()) for band in bands]
    assert members == [{5}, {2, 3}, {0, 1, 4, 6}]


@given(st.lists(st.floats(2**-10, 2**10, width=32), min_size=1, max_size=20))
def test_without_a_gap_there_is_one_band_of_the_largest_value(values: list[float]) -> None:
    (band,) = bands_of(np.array(values), [], 0.0)
    assert (band.scale, band.others) == (max(values), None)


@given(st.lists(st.sampled_from([0.0, 1.0, -3.0, 1e-9, 1e30, -1e9, np.inf, np.nan]), min_size=1, max_size=20))
def test_every_element_is_in_one_band(values: list[float]) -> None:
    exact = np.array(values)
    bands = bands_of(exact, [exact.astype("float32")], 0.0)
    within = [np.ones(exact.shape, bool) if band.others is None else ~band.others for band in bands]
    assert np.array_equal(np.sum(within, axis=0), np.ones(exact.shape, int))
    assert all(band.scale > 0 for band in bands) and GAP > 1


@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=20), st.lists(st.integers(-1070, 1023), max_size=20))
def test_bands_part_where_neighbours_of_sorted_values_are_a_gap_apart(values: list[float], powers: list[int]) -> None:
    exact = np.array([*values, *(2.0**power for power in powers)])
    ordered = np.unique(exact[exact > 0])
    with np.errstate(over="ignore"):
        parts = np.split(ordered, np.flatnonzero(ordered[1:] / ordered[:-1] >= GAP) + 1)
    # Without an error of the original no group is noise, and each is told apart.
    bands = bands_of(exact, [exact], 0.0)
    largest = [float(part[-1]) for part in reversed(parts)] if ordered.size else [1.0]
    fill_and_zeros = len(parts) == 1 and ordered.size == 1 and ordered[0] >= GAP and bool((exact == 0).any())
    assert [band.scale for band in bands] == [*largest, *([1.0] if fill_and_zeros else [])]


def test_scales_are_measured_once_for_what_they_are_made_of() -> None:
    exact = {"y": VALUES.astype("float64")}
    evidence = Evidence("tiny", outputs={("tf/eager", "forward", "seed0"): {"y": VALUES}}, doubles={})
    known = evidence.scales("forward", "seed0", exact)
    again = dataclasses.replace(evidence, allowance={("forward", "seed0", "y", 0): 1.0})
    assert again.scales("forward", "seed0", exact) is known
    assert again.scales("forward", "seed0", {"y": 2 * exact["y"]}).model == 2 * known.model
    assert dataclasses.replace(evidence, outputs={}).scales("forward", "seed0", exact) is not known


@pytest.mark.parametrize(
    ("far_out", "ported", "verdict"),
    [
        pytest.param([-2.3e-165, 1.0], [-0.0, 1.0], PASS, id="beside values"),
        pytest.param([-2.3e-165, 0.0], [3.6e-64, 0.0], PASS, id="alone"),
        pytest.param([-2.3e-30, 1.0], [0.0, 1.0], FAIL, id="what float32 has a number for"),
    ],
)
def test_what_the_type_has_no_number_for_counts_as_zero(
    far_out: list[float], ported: list[float], verdict: str
) -> None:
    """Far out, 1 + erf(x) is 0 in float64 and erfc(-x) is not: in a case that only the programs suggest."""
    drawn = np.ones(2)
    evidence = Evidence(
        workload="tail",
        outputs={(mode, "forward", "seed0"): {"y": drawn.astype(np.float32)} for mode in ("tf/eager", "jax/jit")},
        doubles={
            **{(side, "forward", "seed0"): {"y": drawn} for side in ("tf", "jax")},
            ("tf", "forward", "constants0"): {"y": np.array(far_out)},
            ("jax", "forward", "constants0"): {"y": np.array(ported)},
        },
    )
    assert judge(evidence).gates["semantics"].verdict == verdict
