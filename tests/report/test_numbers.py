"""Numbers with units as text."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.record.base import Interval, Number
from compare.report import numbers


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0111784, "11.2 ms"),
        (0.003403, "3.40 ms"),
        (1.234e-6, "1.23 µs"),
        (5e-9, "5.00 ns"),
        (2.5e-11, "0.0250 ns"),
        (61, "61.0 s"),
        (4321.0, "4321 s"),
        (0, "0 s"),
    ],
)
def test_seconds_have_three_significant_digits_and_the_unit_that_fits(value: float, shown: str) -> None:
    assert numbers.seconds(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.0009996, "1.00 ms"), (0.9999, "1.00 s"), (9.999e-3, "10.0 ms")])
def test_rounding_up_carries_into_the_next_unit(value: float, shown: str) -> None:
    assert numbers.seconds(value) == shown


@given(st.floats(min_value=1e-9, max_value=999))
def test_seconds_read_back_within_half_a_last_digit(value: float) -> None:
    figure, unit = numbers.seconds(value).split()
    assert float(figure) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit] == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 B"), (512, "512 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (1023 * 1024, "1023 KiB"), (2**24, "16.0 MiB")],
)
def test_bytes_are_binary(value: int, shown: str) -> None:
    assert numbers.binary_bytes(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(7, "7 FLOP"), (16_777_217, "16.8 MFLOP"), (5.37e8, "537 MFLOP")])
def test_operations_are_decimal(value: float, shown: str) -> None:
    assert numbers.operations(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(1.23e-7, "1.2e-07"), (0.0, "0"), (math.nan, "nan"), (math.inf, "inf")])
def test_errors(value: float, shown: str) -> None:
    assert numbers.error(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(2.31, "2.31x"), (0.405, "0.405x"), (1, "1.00x"), (12.34, "12.3x"), (math.inf, "infx")]
)
def test_ratios(value: float, shown: str) -> None:
    assert numbers.ratio(value) == shown


@pytest.mark.parametrize(
    ("bounds", "shown"), [((0.384, 0.428), "[0.384, 0.428]"), ((0, math.inf), "[0, inf]"), (None, numbers.MISSING)]
)
def test_intervals(bounds: Interval, shown: str) -> None:
    assert numbers.interval(bounds) == shown


def test_counts_and_shares() -> None:
    assert (numbers.count(1234567), numbers.share(0.314)) == ("1,234,567", "31 %")


TO_TEXT = (
    numbers.seconds,
    numbers.binary_bytes,
    numbers.operations,
    numbers.error,
    numbers.ratio,
    numbers.count,
    numbers.share,
)


@pytest.mark.parametrize("to_text", TO_TEXT)
def test_what_is_missing_or_not_finite_is_said_and_never_shown_as_a_number(
    to_text: Callable[[Number], str],
) -> None:
    assert to_text(None) == numbers.MISSING
    assert to_text(math.nan) == "nan"
    assert "inf" in to_text(math.inf)


def test_a_truth_value_is_no_number() -> None:
    assert numbers.finite(True) is None
