"""Bounds: bytes over bandwidth, operations over the peak, and the larger of both."""

from __future__ import annotations

import pytest

from compare.devices.bounds import bound, peak
from compare.devices.naming import device


def test_the_larger_of_memory_and_arithmetic_binds():
    h100 = device("H100")
    by_memory = bound(h100, 3_352_320_000_000.0, 1.0, {"f32"})
    by_arithmetic = bound(h100, 1.0, 2 * 494.7e12, {"f32"})
    assert by_memory is not None and by_arithmetic is not None
    assert (by_memory.seconds, by_memory.by) == (pytest.approx(1), "memory")
    assert (by_arithmetic.seconds, by_arithmetic.by) == (pytest.approx(2), "tf32 peak")


@pytest.mark.parametrize(
    ("name", "types", "unit"),
    [
        ("H100", {"f32"}, "tf32"),
        ("V100", {"f32"}, "f32"),  # no tf32 before Ampere
        ("V100", {"bf16"}, "f32"),  # no bfloat16 either: computed in float32
        ("H100", {"bf16", "f32"}, "bf16"),  # the fastest, so that the bound holds for all
        ("H100", {"f64"}, "f64"),
        ("H100", set(), "tf32"),
        ("v5e:2x2", {"f32"}, "bf16"),
    ],
)
def test_products_are_bounded_by_the_fastest_unit_that_may_compute_them(name, types, unit):
    assert peak(device(name), types) == unit


def test_what_is_not_known_bounds_nothing():
    assert bound(device("H100"), None, None, ()) is None
    known = bound(device("H100"), 1.0, None, ())
    assert known is not None and known.by == "memory"
