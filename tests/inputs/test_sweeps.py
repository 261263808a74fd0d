"""What the sweeps draw: every magnitude of the type, within the range that an input declares, the same each time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.core import sweeps
from workloads.core.spec import ArraySpec

ALONE = {"x": ArraySpec((4, 8))}


def magnitudes(spec: ArraySpec, pattern: str, moderate: bool = False) -> list[float]:
    return [each.magnitude for each in sweeps.probes({"x": spec}, moderate) if each.pattern == pattern]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_sweep_comes_close_to_both_ends_of_the_type(dtype: str) -> None:
    import ml_dtypes

    info = ml_dtypes.finfo(np.dtype(dtype))
    found = magnitudes(ArraySpec((8,), dtype), sweeps.MIXED)
    assert min(found) <= float(info.smallest_normal) * 2**4
    assert max(found) >= float(info.max) / 8 / 2**6


def test_a_narrow_type_of_many_elements_is_swept_beyond_one_and_counts() -> None:
    spec = ArraySpec((32, 32), "float16")
    assert sweeps.squares_within(spec) >= 4
    assert max(magnitudes(spec, sweeps.MIXED)) >= 16
    assert max(magnitudes(ArraySpec((4096, 1024), "float16"), sweeps.MIXED)) >= 16


@pytest.mark.parametrize(("low", "high"), [(1, 2), (5, 10), (100, 200), (-3, -2)])
def test_a_range_that_is_far_from_zero_is_swept_from_both_ends(low: float, high: float) -> None:
    specs = {"x": ArraySpec((16,), low=low, high=high)}
    drawn = [
        sweeps.draw_inputs(each, specs, {"x": np.zeros(16, np.float32)})["x"] for each in sweeps.probes(specs, False)
    ]
    assert min(each.min() for each in drawn) < low + 1e-3 * (high - low)
    assert max(each.max() for each in drawn) > high - 1e-3 * (high - low)


def test_a_model_is_swept_around_its_own_scale() -> None:
    found = magnitudes(ArraySpec((4, 8), scale=1000), sweeps.MIXED, moderate=True)
    assert (min(found), max(found)) == (2**4, 2**16)
    coarse = sweeps.probes({"x": ArraySpec((4, 8), scale=1000)}, True, 6)
    assert {each.magnitude for each in coarse if each.pattern == sweeps.MIXED} == {2**4, 2**10, 2**16}


@given(st.floats(-100, 100), st.floats(0.001, 1000))
def test_a_sweep_stays_within_the_declared_range(low: float, width: float) -> None:
    spec = ArraySpec((16,), low=low, high=low + width)
    base = {"x": np.zeros(16, np.float32)}
    for probe in sweeps.probes({"x": spec}, moderate=False):
        drawn = sweeps.draw_inputs(probe, {"x": spec}, base)["x"]
        assert drawn.min() >= np.float32(low) and drawn.max() <= np.float32(low + width)


def test_what_is_drawn_is_what_the_pattern_says() -> None:
    base = {"x": np.zeros((4, 8), np.float32)}

    def drawn(pattern: str) -> np.ndarray:
        return sweeps.draw_inputs(sweeps.Probe("x", pattern, 64.0), ALONE, base)["x"]

    assert np.abs(drawn(sweeps.MIXED)).max() == 64 and {-1, 1} == set(np.sign(drawn(sweeps.MIXED)).flat)
    assert drawn(sweeps.POSITIVE).min() > 0 > drawn(sweeps.NEGATIVE).max()
    assert abs(drawn(sweeps.ABOVE).mean() - 64) < 1 and abs(drawn(sweeps.BELOW).mean() + 64) < 1
    assert 0 < np.ptp(drawn(sweeps.NEARLY_EQUAL)) < 0.2
    assert np.sort(np.abs(drawn(sweeps.OUTLIER)).flat)[-2] < 8 < drawn(sweeps.OUTLIER).max()


def test_inputs_that_are_no_floats_or_as_wide_as_the_reference_are_not_swept() -> None:
    specs = {"n": ArraySpec((4,), "int32"), "d": ArraySpec((4,), "float64"), "z": ArraySpec((4,), "complex64")}
    assert sweeps.swept(specs) == []
    assert list(sweeps.probes(specs, moderate=False)) == []


def test_several_inputs_are_swept_alone_and_together() -> None:
    specs = {"x": ArraySpec((4,)), "n": ArraySpec((4,), "int32"), "y": ArraySpec((4,), low=0, high=1)}
    base = {"x": np.zeros(4, np.float32), "n": np.arange(4, dtype=np.int32), "y": np.full(4, 0.5, np.float32)}
    moved = {probe.moved for probe in sweeps.probes(specs, moderate=False)}
    assert moved == {"x", "y", sweeps.ALL}
    together = next(probe for probe in sweeps.probes(specs, moderate=False) if probe.moved == sweeps.ALL)
    drawn = sweeps.draw_inputs(together, specs, base)
    assert drawn["n"] is base["n"]
    assert not np.array_equal(drawn["x"], base["x"]) and not np.array_equal(drawn["y"], base["y"])


def test_a_model_is_swept_near_ordinary_inputs() -> None:
    found = magnitudes(ArraySpec((4, 8)), sweeps.MIXED, moderate=True)
    assert (min(found), max(found)) == (2**-6, 2**6)


def test_the_same_call_is_drawn_alike() -> None:
    base = {"x": np.zeros((4, 8), np.float32)}
    probe = sweeps.Probe("x", sweeps.MIXED, 3.0)
    np.testing.assert_array_equal(
        sweeps.draw_inputs(probe, ALONE, base)["x"], sweeps.draw_inputs(probe, ALONE, base)["x"]
    )
