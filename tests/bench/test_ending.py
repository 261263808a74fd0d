"""The whole rule of a bench, its end and its control included, where the truth is known."""

from __future__ import annotations

import functools
import math
from collections import Counter

import numpy as np
import pytest

from compare.bench.pairs import Measured
from compare.bench.stats import EQUIVALENT, LEAST_MARGIN, SLOWER
from compare.inputs.request import Plan
from compare.measure.timed_samples import PUBLIC, Samples, summarise
from compare.measure.timed_sets import needs_more
from compare.record.timing_part import Ratio
from workloads.core.modes import Arm, parse_arm

RUNS = 150
PLAN = Plan(12, 24)
NOISY = (1.1, 0.08)
"""The truth, and the scatter of identical code: most runs take more pairs than were asked for."""
QUIET = (1.0, 0.03)
ARMS = [parse_arm(name) for name in ("tf/jit", "tf/jit#2", "jax/jit", "jax/jit#2")]


@functools.cache
def published(factor: float, scatter: float, bias: float = 1.0) -> list[Ratio]:
    """The ratio that each of many runs gives of a port that takes `factor` times as long as its original.

    Args:
      factor: the truth.
      scatter: the standard deviation, in log ratios, of identical code in two processes.
      bias: how many times as long the second process of the original takes.
    """
    generator = np.random.default_rng(5)
    truth = np.array([1.0, bias, factor, factor])
    times = truth * np.exp(generator.normal(0, scatter / math.sqrt(2), (RUNS, PLAN.most_pairs, len(ARMS))))
    return [_run([dict(zip(ARMS, pair.tolist(), strict=True)) for pair in run]) for run in times]


def _run(pairs: list[dict[Arm, float]]) -> Ratio:
    samples = Samples()
    for count, pair in enumerate(pairs):
        if not needs_more(samples, PLAN, count):
            break
        samples.pairs.append(Measured({arm: (seconds,) for arm, seconds in pair.items()}, {}))
    return summarise(samples, recorded_sides=()).timing.ratios[str(PUBLIC)]


def counted(ratios: list[Ratio]) -> Counter[str]:
    """How many runs gave which verdict; "withheld" where none was given."""
    return Counter("withheld" if ratio.withheld else ratio.verdict for ratio in ratios)


@pytest.mark.parametrize("case", [NOISY, QUIET])
def test_intervals_hold_the_truth_whatever_ended_the_run(case: tuple[float, float]) -> None:
    intervals = [ratio.ci95 for ratio in published(*case) if not ratio.withheld]
    assert len(intervals) >= 0.98 * RUNS
    holds = [low <= case[0] <= high for low, high in filter(None, intervals) if low is not None and high is not None]
    assert np.mean(holds) >= 0.93


def test_ten_per_cent_are_not_equivalent_where_identical_code_scatters() -> None:
    verdicts = counted(published(*NOISY))
    assert verdicts[EQUIVALENT] <= 0.01 * RUNS and verdicts[SLOWER] >= 0.95 * RUNS, verdicts
    assert counted(published(*QUIET))[EQUIVALENT] >= 0.9 * RUNS


def test_biased_identical_code_is_withheld() -> None:
    verdicts = counted(published(0.5, 0.02, bias=1 + LEAST_MARGIN))
    assert verdicts["withheld"] >= 0.95 * RUNS, verdicts


def test_a_run_ends_where_identical_code_is_narrow_and_not_where_the_port_is_decided() -> None:
    assert {ratio.pairs for ratio in published(*QUIET)} == {PLAN.pairs}
    needed = {ratio.pairs or 0 for ratio in published(*NOISY)}
    assert max(needed) > PLAN.pairs + 3 and len(needed) > 4, "one pair at a time, until it is narrow"
