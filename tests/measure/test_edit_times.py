"""The time of an edit: planted slowdowns are told, and nothing is where identical code does not take equal times."""

from __future__ import annotations

import numpy as np
import pytest

from compare.measure.edit_times import AFTER, AGAIN, BEFORE, judge
from compare.report.cluster_comparisons import times_compared


def times(factor: float, pairs: int = 8, seed: int = 0, rounds: int = 10) -> list[list[float]]:
    generator = np.random.default_rng(seed)
    return [[factor * float(generator.normal(1e-3, 5e-6)) for _ in range(rounds)] for _ in range(pairs)]


@pytest.mark.parametrize(("factor", "verdict"), [(2.0, "slower"), (0.5, "faster"), (1.0001, "equivalent")])
def test_a_planted_factor_is_found(factor: float, verdict: str) -> None:
    found = judge({BEFORE: times(1.0), AFTER: times(factor, seed=1), AGAIN: times(1.0, seed=2)})
    assert found.verdict == verdict and found.ratio == pytest.approx(factor, rel=0.02)
    (line,) = times_compared(None, None, found)
    assert verdict in line and "identical code" in line


def test_an_edit_that_makes_so_long_calls_that_they_sit_rounds_out_is_held_against_those_that_it_took_part_in() -> None:
    found = judge({BEFORE: times(1.0), AFTER: times(20.0, seed=1, rounds=5), AGAIN: times(1.0, seed=2)})
    assert found.verdict == "slower" and found.ratio == pytest.approx(20.0, rel=0.02)


def test_identical_code_that_takes_other_times_withholds_the_ratio() -> None:
    found = judge({BEFORE: times(1.0), AFTER: times(2.0, seed=1), AGAIN: times(1.3, seed=2)})
    assert found.ratio is None and not found.verdict
    (line,) = times_compared(None, None, found)
    assert "withheld: identical code in two processes did not take equal times" in line


def test_few_pairs_give_no_interval() -> None:
    found = judge({BEFORE: times(1.0, 2), AFTER: times(2.0, 2, 1), AGAIN: times(1.0, 2, 2)})
    assert found.ratio is None and "an interval needs 5 pairs" in found.withheld
