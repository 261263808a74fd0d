"""The arithmetic of ratios: one value a pair of processes, Student's intervals over them, equivalence by two tests."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

Interval = tuple[float, float]
Rounds = Sequence[Sequence[float]]
"""Seconds by pair, then round."""

FASTER = "faster"
SLOWER = "slower"
EQUIVALENT = "equivalent"
INCONCLUSIVE = "inconclusive"

LEAST_MARGIN = 0.05
"""Identical code in two processes comes out this far apart on a machine that others use."""

WIDEST_MARGIN = 0.25
"""The widest that still means the same, 80 % to 125 %, as for bioequivalence:
FDA, Statistical Approaches to Establishing Bioequivalence, 2001."""

UNKNOWN: Interval = (0.0, math.inf)
"""The interval of a ratio from fewer than `LEAST_PAIRS`: how far another pair would lie is not known."""

IDENTICAL = 0.999
"""The level at which identical code has to come out equal: a tour checks ten times, the zoo thirty, and what chance
alone has withheld would be measured again for nothing."""

LEAST_PAIRS = 5
"""Below this an interval says little: that of four pairs is twice as wide as that of eight, of three three times."""


@dataclass(frozen=True)
class Ratio:
    """time(a) / time(b): below 1, a is faster. `rounds` counts those of all pairs.

    `between_pair_share` is the part of a round's variance, in log ratios, that comes with the pair
    of processes and that more rounds cannot average out; None if unknown.
    """

    ratio: float
    ci90: Interval
    ci95: Interval
    ci99: Interval
    pairs: int
    rounds: int
    between_pair_share: float | None
    standard_error: float | None
    """The standard error of log(ratio), as in the intervals; None without intervals."""

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval, as a factor less 1: 0.05 for [1/1.05, 1.05] times the ratio."""
        return half_width(self.ci95)


@functools.cache
def students_t(probability: float, freedom: float) -> float:
    """The quantile of Student's t: a run needs the same few hundreds of times, and scipy takes 0.1 ms for each."""
    return float(stats.t.ppf(probability, freedom))


def half_width(interval: Interval) -> float:
    """Half of an interval, as a factor less 1; infinite where it has no lower end."""
    low, high = interval
    return math.sqrt(high / low) - 1 if low > 0 else math.inf


def ratio(a: Rounds, b: Rounds) -> Ratio:
    """The ratio of two arms that ran in the same pairs and rounds.

    The estimate is exp(mean over pairs of median over rounds of log(a / b)). The pair is the unit of chance:
    rounds of one pair share its processes, and an interval over rounds alone is too narrow. What the rounds of
    a pair scatter is in that pair's value already: to draw rounds again as well would count it twice.

    Args:
      a: seconds by pair, then round.

    Raises:
      ValueError: no pair, pairs or rounds that do not correspond, or a time that is not positive and finite.
    """
    logs = _log_ratios(a, b)
    values = np.array([np.median(pair) for pair in logs])
    count = len(logs)
    error = float(values.std(ddof=1)) / math.sqrt(count) if count >= LEAST_PAIRS else None
    estimate = float(values.mean())
    return Ratio(
        ratio=math.exp(estimate),
        ci90=_interval(estimate, error, count, 0.90),
        ci95=_interval(estimate, error, count, 0.95),
        ci99=_interval(estimate, error, count, 0.99),
        pairs=count,
        rounds=sum(len(pair) for pair in logs),
        between_pair_share=_between_share(logs),
        standard_error=error,
    )


def interval_at(estimate: Ratio, level: float) -> Interval:
    """The interval of a ratio at any level between 0 and 1, as its 95 % interval is made."""
    return _interval(math.log(estimate.ratio), estimate.standard_error, estimate.pairs, level)


def excluding_one(null: Ratio) -> Interval | None:
    """The interval of code that was compared with itself, at the level `IDENTICAL`; None where it contains 1."""
    low, high = interval_at(null, IDENTICAL)
    return None if low <= 1 <= high else (low, high)


def level_together(level: float, count: int) -> float:
    """The level of each of `count` intervals that hold all at once with `level`: Bonferroni's.

    O. J. Dunn, Multiple Comparisons Among Means, 1961, https://doi.org/10.1080/01621459.1961.10482090. Intervals may
    depend on one another in any way.
    """
    return 1 - (1 - level) / count


def equivalence_margin(nulls: Sequence[Ratio]) -> float:
    """The smallest relative difference that counts: 5 %, or the widest half-width of identical code."""
    return max([LEAST_MARGIN, *(null.half_width for null in nulls)])


def verdict(estimate: Ratio, margin: float, least: float = 0.0) -> str:
    """The verdict on a: equivalent, faster, slower, or inconclusive.

    Equivalent: the 90 % interval lies inside (1 / (1 + margin), 1 + margin), which is two one-sided
    tests at 5 % (Schuirmann 1987, https://doi.org/10.1007/BF01068419). Else faster or slower: the 95 %
    interval lies on one side of 1. Where both hold the difference is real but smaller than the margin,
    and equivalent wins. Inside a margin above `WIDEST_MARGIN` nothing can be said: identical code
    differs as much, and the same would mean little.

    Args:
      margin: the relative difference within which two arms are equivalent.
      least: a relative difference that means nothing even where it is real: faster and slower lie beyond it.
    """
    if 1 / (1 + margin) < estimate.ci90[0] and estimate.ci90[1] < 1 + margin:
        return EQUIVALENT if margin <= WIDEST_MARGIN else INCONCLUSIVE
    if estimate.ci95[1] < 1 / (1 + least):
        return FASTER
    return SLOWER if estimate.ci95[0] > 1 + least else INCONCLUSIVE


def _log_ratios(a: Rounds, b: Rounds) -> list[np.ndarray]:
    if not a or [len(rounds) for rounds in a] != [len(rounds) for rounds in b] or not all(a):
        raise ValueError(f"expected the same rounds of the same pairs, found {_shape(a)} against {_shape(b)}")
    logs = []
    for one, other in zip(a, b, strict=True):
        times = np.array([one, other], dtype=float)
        unusable = times[~(np.isfinite(times) & (times > 0))]
        if unusable.size:
            raise ValueError(f"expected positive times in seconds, found {unusable[0]}")
        logs.append(np.log(times[0] / times[1]))
    return logs


def _shape(rounds: Rounds) -> list[int]:
    return [len(pair) for pair in rounds]


def _interval(estimate: float, error: float | None, pairs: int, level: float) -> Interval:
    """Student's t with n - 1 degrees of freedom around the estimate, on the log scale."""
    if error is None:
        return UNKNOWN
    half = students_t((1 + level) / 2, pairs - 1) * error
    return math.exp(estimate - half), math.exp(estimate + half)


def _between_share(logs: Sequence[np.ndarray]) -> float | None:
    """The intraclass correlation ICC(1), one-way random effects, not below 0.

    Shrout & Fleiss 1979, https://doi.org/10.1037/0033-2909.86.2.420; for unequal numbers of rounds
    n_i, their mean number is that of Searle, Variance Components: (N - sum n_i^2 / N) / (pairs - 1).
    """
    counts = np.array([len(pair) for pair in logs])
    pairs, rounds = len(counts), int(counts.sum())
    if pairs == 1 or rounds == pairs:
        return None
    means = np.array([pair.mean() for pair in logs])
    grand = np.concatenate(logs).mean()
    between = float(counts @ (means - grand) ** 2) / (pairs - 1)
    within = sum(float(((pair - mean) ** 2).sum()) for pair, mean in zip(logs, means, strict=True)) / (rounds - pairs)
    per_pair = (rounds - float((counts**2).sum()) / rounds) / (pairs - 1)
    component = max(0.0, (between - within) / per_pair)
    return component / (component + within) if component > 0 else 0.0
