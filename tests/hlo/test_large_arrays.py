"""Arrays are read piece by piece: what is told of one does not depend on where the pieces end."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from compare.hlo.arrays import fingerprints
from compare.hlo.arrays.fingerprints import TOLERANCE, fingerprint
from compare.hlo.arrays.layouts import laid_out

CHUNK = fingerprints.CHUNK
LARGE = np.random.default_rng(0).standard_normal(3 * CHUNK + 5).astype(np.float32)
SCALE = float(np.abs(LARGE).max())
EDGES = (0, CHUNK - 1, CHUNK, 2 * CHUNK, LARGE.size - 1)


def changed(at: int, value: float) -> np.ndarray:
    other = LARGE.copy()
    other[at] = value
    return other


@pytest.mark.parametrize("at", EDGES)
@pytest.mark.parametrize("value", [9.0, np.nan, np.inf], ids=str)
def test_one_wrong_element_is_seen_wherever_it_stands(at: int, value: float) -> None:
    assert laid_out([(LARGE, LARGE)], [SCALE], TOLERANCE)
    assert laid_out([(LARGE, changed(at, value))], [SCALE], TOLERANCE) is None


@pytest.mark.parametrize("at", EDGES)
def test_the_distance_is_that_of_the_farthest_element_wherever_it_stands(at: int) -> None:
    other = changed(at, LARGE[at] + 4 * np.spacing(np.float32(SCALE)))
    equal = laid_out([(LARGE, other)], [SCALE], TOLERANCE)
    assert equal is not None
    assert equal.ulp == pytest.approx(4, abs=0.5)


@pytest.mark.parametrize("at", EDGES)
def test_a_fingerprint_tells_what_is_no_number_and_the_largest_wherever_they_stand(at: int) -> None:
    assert fingerprint(changed(at, -np.inf), TOLERANCE).special == (0, 0, 1)
    assert fingerprint(changed(at, np.nan), TOLERANCE).special == (1, 0, 0)
    assert fingerprint(changed(at, -123.0), TOLERANCE).scale == 123.0


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
def test_a_fingerprint_is_that_of_the_whole_array(dtype: str) -> None:
    array = LARGE.astype(getattr(ml_dtypes, dtype, dtype))
    wide = np.abs(array).astype(np.float64) if array.dtype.kind == "c" else array.astype(np.float64)
    told = fingerprint(array, TOLERANCE)
    assert told.scale == np.abs(wide).max()
    over = wide / told.scale
    assert told.spread == pytest.approx((over.mean(), np.abs(over).mean(), np.sqrt(np.square(over).mean())), rel=1e-9)


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_an_array_is_spread_alike_at_any_scale_also_where_squares_do_not_exist(exponent: int) -> None:
    array = LARGE.astype(np.float64)
    told, scaled = (fingerprint(given, TOLERANCE) for given in (array, np.ldexp(array, exponent)))
    assert scaled.scale == np.ldexp(told.scale, exponent)
    assert scaled.spread == pytest.approx(told.spread, rel=1e-9)


def test_values_that_fill_a_part_set_no_scale() -> None:
    masked = LARGE.copy()
    masked[CHUNK : 2 * CHUNK] = -1e9
    assert fingerprint(masked, TOLERANCE).scale == np.abs(LARGE[np.r_[:CHUNK, 2 * CHUNK : LARGE.size]]).max()


@pytest.mark.parametrize("size", [0, 1, 2])
def test_arrays_of_hardly_any_element_have_fingerprints(size: int) -> None:
    told = fingerprint(np.full(size, 2.5, np.float32), TOLERANCE)
    assert (told.elements, told.scale) == (size, 2.5 if size else 0.0)


def test_an_array_of_nothing_finite_has_a_fingerprint() -> None:
    told = fingerprint(np.array([np.nan, np.inf, -np.inf, np.nan], np.float32), TOLERANCE)
    assert (told.special, told.scale, told.bits) == ((2, 1, 1), 0.0, 0.0)


def test_the_few_finite_elements_of_an_array_tell_what_they_are() -> None:
    """Among infinities, a mask's -1e9 sets no scale, and other numbers beside it are another array."""
    draws = np.random.default_rng(1)
    one, other = (np.full(1 << 18, -np.inf, np.float32) for _ in range(2))
    for array in (one, other):
        array[:100], array[100:200] = -1e9, draws.standard_normal(100)
    told, another = fingerprint(one, TOLERANCE), fingerprint(other, TOLERANCE)
    assert told.scale < 10
    assert told.bits > 1000
    assert laid_out([(one, other)], [max(told.scale, another.scale)], TOLERANCE) is None


def test_what_counts_up_behind_infinities_tells_nothing() -> None:
    counting = np.concatenate((np.full(5000, -np.inf), np.arange(5000))).astype(np.float32)
    assert fingerprint(counting, TOLERANCE).bits == 0.0


def test_the_least_numbers_of_a_type_tell_nothing() -> None:
    least = np.zeros(5000)
    least[7] = 1e-320
    assert fingerprint(least, TOLERANCE).bits == 0.0


def test_numbers_whose_magnitude_overflows_are_not_equal() -> None:
    large = np.full(3, 1.5e308 + 1.5e308j)
    with np.errstate(over="ignore"):
        assert laid_out([(large, -large)], [1.0], TOLERANCE) is None
