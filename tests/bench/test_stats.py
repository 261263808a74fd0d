"""The arithmetic against published examples, and against simulated machines whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats as scipy_stats

from compare.bench.stats import (
    EQUIVALENT,
    FASTER,
    INCONCLUSIVE,
    LEAST_MARGIN,
    LEAST_PAIRS,
    SLOWER,
    Ratio,
    equivalence_margin,
    ratio,
    verdict,
)

# Student's sleep data: extra hours of sleep of ten patients under two drugs; R's t.test(..., paired = TRUE) gives
# a mean difference of -1.58, 95 percent confidence interval -2.4598858 -0.7001142.
# http://www.dummies.com/how-to/content/how-to-compare-paired-data-with-r.navId-812016.html
SLEEP_1 = (0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0)
SLEEP_2 = (1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4)

# Fifteen paired differences in each of two variables of a clinical trial, and what R's equivalence::tost(..., eps=0.6)
# says of them: the 90 % interval, and whether not being equivalent is rejected.
# https://github.com/statsmodels/statsmodels/blob/main/statsmodels/stats/tests/test_weightstats.py
CLINIC_1 = (0.24, -0.31, 0.23, -0.51, -0.87, 0.75, 0.67, -0.21, 0.11, -0.14, 0.86, 0.65, 0.33, -0.15, 0.82)
CLINIC_2 = (0.24, -0.40, 0.49, -0.18, -0.23, 1.47, 1.73, 0.39, -0.88, -0.80, 0.81, 0.90, 0.98, 2.33, 1.59)

# Six targets rated by four judges: ICC(1,1) = .17 in Shrout & Fleiss 1979, https://doi.org/10.1037/0033-2909.86.2.420
SHROUT_FLEISS = ((9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7))

# Widths of tick larvae by the rabbit they sat on: 32.1 % of the variance lies among rabbits.
# Sokal & Rohlf, Biometry, 3rd edition, 1995, box 9.1
SOKAL_ROHLF = (
    (380, 376, 360, 368, 372, 366, 374, 382),
    (350, 356, 358, 376, 338, 342, 366, 350, 344, 364),
    (354, 360, 362, 352, 366, 372, 362, 344, 342, 358, 351, 348, 348),
    (376, 344, 342, 372, 374, 360),
)

Seconds = list[list[float]]


def from_logs(logs: Sequence[Sequence[float]]) -> tuple[Seconds, Seconds]:
    """Two arms whose log ratios, by pair and round, are these."""
    return [[math.exp(value) for value in pair] for pair in logs], [[1.0] * len(pair) for pair in logs]


def simulated(
    generator: np.random.Generator, pairs: int = 8, rounds: int = 20, factor: float = 1.0, between: float = 0.05
) -> tuple[Seconds, Seconds]:
    """Two arms of one pair of processes each, `factor` apart: every pair has a level of its own, every round noise."""
    levels = generator.normal(math.log(factor), between, size=(pairs, 1))
    return from_logs((levels + generator.normal(0, 0.05, size=(pairs, rounds))).tolist())


def interval_over_rounds(a: Seconds, b: Seconds) -> tuple[float, float]:
    """What one gets who takes every round for a fresh chance: Student's t over all rounds of all pairs."""
    logs = np.log(np.concatenate(a) / np.concatenate(b))
    low, high = scipy_stats.t.interval(0.95, len(logs) - 1, logs.mean(), scipy_stats.sem(logs))
    return math.exp(low), math.exp(high)


def found(low: float, high: float, wider: float = 1.1) -> Ratio:
    """A ratio whose 90 % interval is [low, high] and whose 95 % interval is `wider` times as wide in logs."""
    middle, half = math.sqrt(low * high), math.sqrt(high / low)
    ci95 = (middle / half**wider, middle * half**wider)
    return Ratio(middle, (low, high), ci95, ci95, pairs=8, rounds=240, between_pair_share=0.5, standard_error=0.01)


def test_on_the_sleep_data_the_interval_is_that_of_the_paired_t_test() -> None:
    a, b = [[math.exp(hours)] for hours in SLEEP_1], [[math.exp(hours)] for hours in SLEEP_2]
    result = ratio(a, b)
    low, high = (math.log(end) for end in result.ci95)
    assert math.log(result.ratio) == pytest.approx(-1.58, abs=1e-12)
    assert (low, high) == pytest.approx((-2.4598858, -0.7001142), abs=1e-7)
    # R's t.test gives t = -4.0621 for the difference of -1.58.
    assert result.standard_error == pytest.approx(1.58 / 4.0621, rel=1e-4)
    assert (result.pairs, result.rounds) == (10, 10)


@pytest.mark.parametrize(("differences", "equivalent"), [(CLINIC_1, True), (CLINIC_2, False)], ids=["yes", "no"])
def test_equivalence_is_that_of_two_one_sided_tests_on_the_clinic_data(
    differences: Sequence[float], equivalent: bool
) -> None:
    """A quarter of every difference, for the published limit of 0.6 is wider than any that means the same here."""
    result = ratio(*from_logs([[difference / 4] for difference in differences]))
    assert (verdict(result, math.expm1(0.6 / 4)) == EQUIVALENT) is equivalent


@pytest.mark.parametrize(
    ("groups", "published"), [(SHROUT_FLEISS, 0.17), (SOKAL_ROHLF, 0.321)], ids=["equal groups", "unequal groups"]
)
def test_the_between_pair_share_is_the_published_intraclass_correlation(
    groups: Sequence[Sequence[float]], published: float
) -> None:
    """A hundredth of every value, for a time is the exponential of it."""
    share = ratio(*from_logs([[value / 100 for value in group] for group in groups])).between_pair_share
    assert share == pytest.approx(published, abs=0.005)


@pytest.mark.parametrize(
    ("logs", "share"),
    [
        ([[0.1, 0.1], [0.2, 0.2, 0.2]], 1.0),
        ([[0.1, -0.1], [-0.1, 0.1]], 0.0),
        ([[0.0, 0.0], [0.0, 0.0]], 0.0),
        ([[0.1, 0.2]], None),
        ([[0.1], [0.2]], None),
    ],
    ids=["pairs alone differ", "rounds alone differ", "nothing differs", "one pair", "one round a pair"],
)
def test_the_between_pair_share_at_its_limits(logs: Seconds, share: float | None) -> None:
    assert ratio(*from_logs(logs)).between_pair_share == (None if share is None else pytest.approx(share))


def test_a_disturbed_round_does_not_move_the_estimate() -> None:
    calm = from_logs([[0.1] * 5, [0.3] * 5])
    disturbed = from_logs([[0.1] * 4 + [9.0], [-9.0] + [0.3] * 4])
    assert ratio(*calm).ratio == ratio(*disturbed).ratio == pytest.approx(math.exp(0.2))


def test_the_other_way_round_is_the_reciprocal() -> None:
    a, b = simulated(np.random.default_rng(0), factor=1.3)
    one, other = ratio(a, b), ratio(b, a)
    assert other.ratio == pytest.approx(1 / one.ratio)
    assert other.ci95 == pytest.approx((1 / one.ci95[1], 1 / one.ci95[0]))
    assert other.standard_error == pytest.approx(one.standard_error)


def test_intervals_widen_with_their_level() -> None:
    result = ratio(*simulated(np.random.default_rng(0)))
    lows, highs = zip(result.ci90, result.ci95, result.ci99, strict=True)
    assert list(lows) == sorted(lows, reverse=True) and list(highs) == sorted(highs)


@pytest.mark.parametrize("pairs", range(1, LEAST_PAIRS))
def test_a_few_pairs_give_an_estimate_and_no_interval(pairs: int) -> None:
    result = ratio([[2.0, 2.0]] * pairs, [[1.0, 1.0]] * pairs)
    assert result.ratio == pytest.approx(2)
    assert result.ci90 == result.ci95 == result.ci99 == (0, math.inf)
    assert verdict(result, LEAST_MARGIN) == INCONCLUSIVE


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([], [], "same rounds of the same pairs"),
        ([[1.0]], [[1.0], [1.0]], "same rounds of the same pairs"),
        ([[1.0, 1.0]], [[1.0]], r"found \[2\] against \[1\]"),
        ([[1.0], []], [[1.0], []], "same rounds of the same pairs"),
        ([[1.0, 0.0]], [[1.0, 1.0]], "positive times in seconds, found 0"),
        ([[1.0]], [[math.nan]], "positive times in seconds, found nan"),
        ([[math.inf]], [[1.0]], "positive times in seconds, found inf"),
        ([[1.0]], [[-2.0]], "positive times in seconds, found -2"),
    ],
)
def test_times_that_do_not_correspond_or_are_none_are_refused(a: Seconds, b: Seconds, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ratio(a, b)


@pytest.mark.parametrize("pairs", [LEAST_PAIRS, 8, 12])
def test_the_interval_over_pairs_covers_the_truth_and_the_interval_over_rounds_does_not(pairs: int) -> None:
    """400 runs of identical code on a machine where a process keeps the luck it started with."""
    generator = np.random.default_rng(20)
    runs = [simulated(generator, pairs) for _ in range(400)]
    over_pairs = [ratio(*run) for run in runs]
    over_rounds = [interval_over_rounds(*run) for run in runs]
    assert sum(found.ci95[0] <= 1 <= found.ci95[1] for found in over_pairs) >= 0.94 * 400
    assert sum(found.ci99[0] <= 1 <= found.ci99[1] for found in over_pairs) >= 0.98 * 400
    assert sum(low <= 1 <= high for low, high in over_rounds) < 0.60 * 400


def simulated_rounds(generator: np.random.Generator, pairs: int, rounds: int) -> Seconds:
    return np.exp(generator.normal(0, 0.1, (pairs, rounds))).tolist()


def two_speeds(generator: np.random.Generator, pairs: int, rounds: int) -> Seconds:
    """Calls that take 1.2 ms or, where both threads come to lie on one core, 2 ms."""
    seconds = np.where(generator.random((pairs, rounds)) < 0.6, 1.2e-3, 2e-3)
    return (seconds * np.exp(generator.normal(0, 0.1, (pairs, rounds)))).tolist()


@pytest.mark.parametrize("noise", [simulated_rounds, two_speeds])
def test_what_rounds_scatter_is_counted_once(noise: Callable[..., Seconds]) -> None:
    """Where processes do not differ, the interval holds the truth as often as it says; counted twice, always."""
    generator = np.random.default_rng(3)
    runs = [ratio(noise(generator, 8, 15), noise(generator, 8, 15)) for _ in range(1000)]
    assert 0.93 * 1000 <= sum(found.ci95[0] <= 1 <= found.ci95[1] for found in runs) <= 0.98 * 1000


@pytest.mark.parametrize(("factor", "expected"), [(1.10, SLOWER), (1 / 1.10, FASTER), (1.0, EQUIVALENT)])
def test_ten_percent_is_found_and_identical_code_is_not_accused(factor: float, expected: str) -> None:
    generator = np.random.default_rng(7)
    verdicts = [verdict(ratio(*simulated(generator, factor=factor, between=0.03)), LEAST_MARGIN) for _ in range(100)]
    assert verdicts.count(expected) >= 90


@pytest.mark.parametrize(
    ("low", "high", "margin", "expected"),
    [
        (0.97, 1.03, 0.05, EQUIVALENT),
        (0.96, 0.98, 0.05, EQUIVALENT),
        (1.02, 1.04, 0.05, EQUIVALENT),
        (0.94, 0.97, 0.05, FASTER),
        (1.03, 1.06, 0.05, SLOWER),
        (0.50, 0.60, 0.05, FASTER),
        (1.70, 1.80, 0.05, SLOWER),
        (0.90, 1.02, 0.05, INCONCLUSIVE),
        (0.80, 1.30, 0.05, INCONCLUSIVE),
        (0.951, 1.0, 0.05, INCONCLUSIVE),
        (0.94, 0.97, 0.10, EQUIVALENT),
        (0.85, 0.97, 0.25, EQUIVALENT),
        (0.85, 0.97, 0.30, INCONCLUSIVE),
        (0.20, 0.30, 0.30, FASTER),
        (0.20, 0.30, math.inf, INCONCLUSIVE),
    ],
)
def test_the_verdict_by_interval_and_margin(low: float, high: float, margin: float, expected: str) -> None:
    assert verdict(found(low, high), margin) == expected


@pytest.mark.parametrize(("low", "high", "expected"), [(0.80, 0.98, FASTER), (1.02, 1.25, SLOWER)])
def test_an_interval_on_one_side_at_90_but_not_at_95_percent_proves_nothing(
    low: float, high: float, expected: str
) -> None:
    assert verdict(found(low, high), LEAST_MARGIN) == expected
    assert verdict(found(low, high, wider=1.5), LEAST_MARGIN) == INCONCLUSIVE


def test_a_difference_that_means_nothing_even_where_it_is_real_is_not_called() -> None:
    assert verdict(found(1.06, 1.08), LEAST_MARGIN) == SLOWER
    assert verdict(found(1.06, 1.08), LEAST_MARGIN, least=0.10) == INCONCLUSIVE
    assert verdict(found(1.15, 1.2), LEAST_MARGIN, least=0.10) == SLOWER
    assert verdict(found(0.80, 0.85), LEAST_MARGIN, least=0.10) == FASTER


def test_the_margin_is_five_percent_or_what_identical_code_needs() -> None:
    calm = ratio(*from_logs([[0.01], [-0.01]] * 8))
    noisy = ratio(*from_logs([[0.2], [-0.2]] * 4))
    low, high = noisy.ci95
    assert equivalence_margin([]) == equivalence_margin([calm]) == LEAST_MARGIN
    assert equivalence_margin([calm, noisy]) == noisy.half_width == math.sqrt(high / low) - 1
    assert equivalence_margin([ratio([[1.0]], [[1.0]])]) == math.inf
