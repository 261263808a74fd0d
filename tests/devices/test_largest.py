"""The search for the largest batch that fits, on memory that follows a line, a curve, or stairs."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some

from compare.devices.largest import CLOSE, MOST_TRIED, Largest, largest

GIGABYTE = 1e9


def searched(peak: Callable[[int], float | None], memory: float, first: int, most: int) -> tuple[Largest, list[int]]:
    """What is found, and the batches that were tried."""
    tried: list[int] = []

    def peak_at(batch: int) -> float | None:
        tried.append(batch)
        return peak(batch)

    return largest(peak_at, memory, first, most), tried


@given(
    fixed=some.floats(0, 20 * GIGABYTE),
    slope=some.floats(1e3, 2 * GIGABYTE),
    memory=some.floats(GIGABYTE, 80 * GIGABYTE),
    first=some.integers(1, 4096),
    most=some.integers(1, 1 << 24),
)
def test_on_a_line_the_end_is_found_in_few_compilations(
    fixed: float, slope: float, memory: float, first: int, most: int
) -> None:
    found, tried = searched(lambda batch: fixed + slope * batch, memory, first, most)
    fits = [batch for batch in tried if fixed + slope * batch <= memory]
    assert found.fits == max(fits, default=None)
    assert found.too_large == min(set(tried) - set(fits), default=None)
    assert all(1 <= batch <= most for batch in tried)
    assert len(tried) == len(set(tried)) <= MOST_TRIED
    if found.fits and found.too_large and len(tried) < MOST_TRIED:
        assert found.too_large - found.fits <= max(1, found.fits // CLOSE)


@pytest.mark.parametrize(
    ("peak", "end"),
    [
        (lambda batch: GIGABYTE + 5e6 * batch, 3000),
        (lambda batch: 1e6 * batch**1.3, 1713),
        (lambda batch: 1e7 * 128 * math.ceil(batch / 128), 1536),
    ],
    ids=["a line", "a curve", "stairs"],
)
def test_the_end_lies_between_what_fits_and_what_does_not(peak: Callable[[int], float], end: int) -> None:
    found, _ = searched(peak, 16 * GIGABYTE, 32, 1 << 24)
    assert found.fits and found.too_large
    assert found.fits <= end < found.too_large
    assert found.fits > end * 0.9


def test_a_compiler_that_refuses_says_that_it_does_not_fit() -> None:
    found, _ = searched(lambda batch: 1e7 * batch if batch <= 1000 else None, 16 * GIGABYTE, 32, 1 << 24)
    assert found.fits and found.too_large
    assert found.fits <= 1000 < found.too_large


def test_where_nothing_fits_that_is_said() -> None:
    assert searched(lambda _: 20 * GIGABYTE, 16 * GIGABYTE, 32, 1 << 24) == (Largest(None, 1), [32, 16, 8, 4, 2, 1])


def test_a_search_that_may_draw_no_more_knows_no_end() -> None:
    found, _ = searched(lambda batch: 100.0 * batch, 16 * GIGABYTE, 32, 5000)
    assert found == Largest(5000, None, 16 * GIGABYTE // 100)


def test_where_memory_does_not_grow_no_line_meets_it() -> None:
    found, _ = searched(lambda _: 1.0, 16 * GIGABYTE, 32, 5000)
    assert found.fits and (found.too_large, found.expected) == (None, None)
