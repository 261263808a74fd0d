"""Converts recorded intervals to the log scale, and combines estimates of independent runs."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from compare.bench.stats import Interval, students_t
from compare.record.timing_part import Ratio

_LARGEST_LOG = math.log(sys.float_info.max)
UNKNOWN = "without an interval: too few pairs of processes"


@dataclass(frozen=True)
class Estimate:
    """log(ratio), the variance of that estimate, and the degrees of freedom that the variance was found with."""

    log: float
    variance: float
    freedom: float

    def interval(self, level: float) -> Interval:
        """The interval as a factor, by Student's t around the estimate."""
        half = students_t((1 + level) / 2, self.freedom) * math.sqrt(self.variance)
        return factor(self.log - half), factor(self.log + half)


def factor(log: float) -> float:
    """The exponential of a logarithm; infinity beyond the largest float."""
    return math.exp(log) if log < _LARGEST_LOG else math.inf


def estimate(row: Ratio | None) -> Estimate | str:
    """The estimate behind a ratio of a record, or why there is none.

    The half-width of a recorded 95 % interval is, on the log scale, Student's t over pairs times the standard
    error: D. G. Altman and J. M. Bland, How to obtain the standard error from a confidence interval, BMJ 343,
    2011, https://doi.org/10.1136/bmj.d2090, with t for the normal quantile.
    """
    if row is None:
        return "missing"
    if row.withheld:
        return f"withheld: {row.withheld}"
    low, high = row.ci95 or (None, None)
    ratio, pairs = row.ratio, row.pairs
    if ratio is None or low is None or high is None or pairs is None:
        return UNKNOWN
    if (
        not all(math.isfinite(number) for number in (ratio, low, high))
        or not 0 < low <= high
        or ratio <= 0
        or pairs < 2
    ):
        return UNKNOWN
    error = (math.log(high) - math.log(low)) / (2 * students_t(0.975, pairs - 1))
    return Estimate(math.log(ratio), error**2, pairs - 1)


def pool(runs: Sequence[Estimate]) -> Estimate:
    """The mean of several runs' estimates.

    Runs differ by more than their own intervals say: layout in memory, the machine's day. So its variance is that
    which the runs show among themselves, or what their intervals add up to where that is larger.
    """
    count = len(runs)
    log = statistics.fmean(run.log for run in runs)
    within = _sum([Estimate(run.log, run.variance / count**2, run.freedom) for run in runs])
    if count == 1:
        return Estimate(log, within.variance, within.freedom)
    between = statistics.variance([run.log for run in runs]) / count
    if between > within.variance:
        return Estimate(log, between, count - 1)
    return Estimate(log, within.variance, within.freedom)


def difference(after: Estimate, before: Estimate) -> Estimate:
    """log(after / before) of independent runs: variances add.

    J. M. Bland and D. G. Altman, Interaction revisited: the difference between two estimates, BMJ 326, 2003,
    https://doi.org/10.1136/bmj.326.7382.219; degrees of freedom after Welch 1947,
    https://doi.org/10.1093/biomet/34.1-2.28.
    """
    both = _sum([after, before])
    return Estimate(after.log - before.log, both.variance, both.freedom)


def _sum(terms: Sequence[Estimate]) -> Estimate:
    """The sum of independent estimates, with Satterthwaite's degrees of freedom."""
    variance = sum(term.variance for term in terms)
    spread = sum(term.variance**2 / term.freedom for term in terms)
    freedom = variance**2 / spread if spread else sum(term.freedom for term in terms)
    return Estimate(sum(term.log for term in terms), variance, freedom)
