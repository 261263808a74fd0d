"""Runs that end early keep what their intervals promise: measured where the truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from compare.bench.looks import Look, looks
from compare.bench.stats import EQUIVALENT, INCONCLUSIVE, LEAST_MARGIN, Ratio, ratio, verdict

RUNS = 2000
PLAN = looks(12, 24)

Draw = Callable[[np.random.Generator, int], np.ndarray]
NOISES: dict[str, Draw] = {
    "normal": lambda generator, count: generator.normal(0, 0.05, count),
    "wide": lambda generator, count: generator.normal(0, 0.2, count),
    # One process in twenty is half as fast: an outlier of a machine that others use.
    "stragglers": lambda generator, count: (
        generator.normal(0, 0.05, count) + np.log(2) * (generator.random(count) < 0.05)
        - np.log(2) * (generator.random(count) < 0.05)
    ),
}  # fmt: skip


def ended(values: np.ndarray, plan: list[Look]) -> Ratio:
    """The ratio of a run of these log ratios, a pair each, that ends at the first look with a verdict."""
    for look in plan:
        estimate = ratio([[math.exp(value)] for value in values[: look.pairs]], [[1.0]] * look.pairs, look.share)
        if verdict(estimate, LEAST_MARGIN) != INCONCLUSIVE:
            break
    return estimate


def covered(factor: float, draw: Draw, plan: list[Look]) -> tuple[float, float, float]:
    """Of many runs, how often the 95 % interval holds the truth, how often it excludes 1, and pairs on average."""
    generator = np.random.default_rng(7)
    runs = [ended(math.log(factor) + draw(generator, plan[-1].pairs), plan) for _ in range(RUNS)]
    holds = np.mean([run.ci95[0] <= factor <= run.ci95[1] for run in runs])
    excludes = np.mean([not run.ci95[0] <= 1 <= run.ci95[1] for run in runs])
    return float(holds), float(excludes), float(np.mean([run.pairs for run in runs]))


def test_a_run_ends_at_looks_that_share_the_chance_to_be_wrong() -> None:
    assert [(look.pairs, look.share) for look in PLAN] == [
        (5, 0.1), (8, 0.1), (12, pytest.approx(0.4)), (24, pytest.approx(0.4)),
    ]  # fmt: skip
    for pairs, most in ((1, 1), (3, 4), (5, 5), (5, 10), (8, 8), (12, 12), (12, 24), (40, 80)):
        plan = looks(pairs, most)
        assert sum(look.share for look in plan) == pytest.approx(1) and plan[-1].pairs == most
        assert [look.pairs for look in plan] == sorted({look.pairs for look in plan})
    assert list(looks(5, 5)) == [Look(5, 1.0)], "a run of one length has the intervals that it had"


@pytest.mark.parametrize("factor", [1.0, 1.03, 1.1, 1.5])
@pytest.mark.parametrize("noise", NOISES)
def test_intervals_of_runs_that_end_early_hold_the_truth(noise: str, factor: float) -> None:
    holds, excludes, pairs = covered(factor, NOISES[noise], list(PLAN))
    assert holds >= 0.945, (holds, excludes, pairs)
    if factor == 1:
        assert excludes <= 0.055, "of code that is alike one run in twenty says otherwise"
    if factor == 1.5 and noise == "normal":
        assert excludes > 0.999 and pairs < 6, "a large difference ends at the first look"


def test_without_shares_the_same_runs_are_wrong_too_often() -> None:
    naive = [Look(look.pairs, 1.0) for look in PLAN]
    _, excludes, _ = covered(1.0, NOISES["wide"], naive)
    assert excludes > 0.08, "if this were right, nothing would need to be shared"


def test_equivalence_is_not_found_by_looking_often() -> None:
    generator = np.random.default_rng(3)
    edge = math.log1p(LEAST_MARGIN)
    runs = [ended(edge + generator.normal(0, 0.05, 24), list(PLAN)) for _ in range(RUNS)]
    assert np.mean([verdict(run, LEAST_MARGIN) == EQUIVALENT for run in runs]) <= 0.055
