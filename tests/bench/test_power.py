"""Power against published sample sizes, and against simulated machines that the real verdict judges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compare.bench.power import power, smallest_slowdown
from compare.bench.stats import LEAST_MARGIN, SLOWER, ratio, verdict


@pytest.mark.parametrize(("effect", "pairs"), [(0.625, 36), (0.1, 1302)])
def test_the_pairs_that_95_percent_power_needs_are_the_published_ones(effect: float, pairs: int) -> None:
    """Difference from a constant, two-sided at 5 %: G*Power 3.1 manual, one-sample t test, sample sizes 36 and 1302.

    An effect is a mean in units of the standard deviation; without a margin the verdict is that test.
    """

    def power_with(count: int) -> float:
        return power(math.expm1(effect), 1 / math.sqrt(count), count, margin=0.0)

    assert power_with(pairs) >= 0.95 > power_with(pairs - 1)


def test_the_smallest_slowdown_is_called_as_often_as_promised() -> None:
    found = smallest_slowdown(0.02, 12, LEAST_MARGIN)
    assert found is not None
    assert power(found, 0.02, 12, LEAST_MARGIN) == pytest.approx(0.95, abs=1e-3)


@pytest.mark.parametrize("between", [0.01, 0.03, 0.06])
def test_the_real_verdict_calls_it_on_simulated_machines(between: float) -> None:
    pairs, margin = 12, LEAST_MARGIN
    slowdown = smallest_slowdown(between / math.sqrt(pairs), pairs, margin)
    assert slowdown is not None
    generator = np.random.default_rng(4)
    logs = math.log1p(slowdown) + generator.normal(0, between, (200, pairs))
    verdicts = [verdict(ratio([[math.exp(value)] for value in run], [[1.0]] * pairs), margin) for run in logs.tolist()]
    assert 0.90 <= verdicts.count(SLOWER) / 200 <= 0.99


def test_a_slowdown_inside_the_margin_is_equivalent_however_steady_the_machine() -> None:
    assert smallest_slowdown(1e-4, 12, LEAST_MARGIN) == pytest.approx(LEAST_MARGIN, abs=1e-3)


def test_a_noisier_machine_or_fewer_pairs_see_less() -> None:
    base = smallest_slowdown(0.02, 12, LEAST_MARGIN)
    assert base is not None
    for other in (smallest_slowdown(0.04, 12, LEAST_MARGIN), smallest_slowdown(0.02, 5, LEAST_MARGIN)):
        assert other is not None and other > base


@pytest.mark.parametrize(("standard_error", "pairs"), [(0.02, 1), (5.0, 3), (0.0, 12)])
def test_nothing_is_published_that_cannot_be_known(standard_error: float, pairs: int) -> None:
    assert smallest_slowdown(standard_error, pairs, LEAST_MARGIN) is None
