"""What many runs say of the harness, counted on runs that were made by hand."""

from __future__ import annotations

import math

import pytest

from compare.bench.calibration import calibrate
from compare.bench.stats import EQUIVALENT, INCONCLUSIVE, SLOWER
from compare.record.timing_part import Mode, Power, Ratio, Timing


def run(low: float, high: float, verdict: str, ratio: float = 1.1, smallest: float | None = 0.06) -> Timing:
    """One run of jax/jit whose null has this interval and whose planted 10 % came out with this verdict."""
    null = Ratio(12, 120, math.sqrt(low * high), (low, high), (low, high), EQUIVALENT)
    planted = Ratio(12, 120, ratio, (ratio, ratio), (ratio, ratio), verdict)
    power = Power({"jax/jit +10 %": planted}, {"jax/jit": smallest})
    return Timing(null={"jax/jit vs itself": null}, margin=0.05, power=power)


def test_runs_are_counted_by_what_they_covered_and_called() -> None:
    runs = [run(0.98, 1.02, SLOWER), run(1.01, 1.05, SLOWER, 1.12), run(0.9, 1.1, INCONCLUSIVE, 1.08, None)]
    found = calibrate(runs)["jax/jit"]
    assert (found.runs, found.covered) == (3, 2)
    assert (found.called, found.planted) == ({"+10 %": 2}, {"+10 %": 3})
    assert found.estimates == {"+10 %": pytest.approx(1.1)}
    assert found.half_widths == pytest.approx((0.0202, 0.0196, 0.1055), abs=1e-4)
    assert found.half_width == pytest.approx(0.0202, abs=1e-4)
    assert found.smallest == 0.06


def test_a_mode_that_is_neither_sides_counts_too() -> None:
    null = Ratio(12, 120, 1.0, (0.98, 1.02), (0.98, 1.02), EQUIVALENT)
    modes = {"jax/jit": Mode(), "tf2jax/jit": Mode()}
    both = Timing(modes, null={f"{name} vs itself": null for name in modes}, margin=0.05, power=Power({}, {}))
    assert list(calibrate([both])) == ["jax/jit", "tf2jax/jit"]


def test_a_run_without_a_null_counts_for_nothing() -> None:
    not_timed = Ratio(0, 0, withheld="not timed")
    missing = Timing(null={"jax/jit vs itself": not_timed}, margin=0.05, power=Power({}, {}))
    assert calibrate([missing]) == {}
    assert calibrate([missing, run(0.98, 1.02, SLOWER)])["jax/jit"].runs == 1


def test_an_interval_without_end_is_as_wide_as_can_be() -> None:
    assert calibrate([run(0.0, math.inf, INCONCLUSIVE)])["jax/jit"].half_width == math.inf
