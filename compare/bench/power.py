"""The power of a run: how often its verdict detects a slowdown of a given size, and the smallest that it detects."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import optimize, stats

from compare.bench.stats import students_t

WANTED = 0.95
"""How often the smallest slowdown is called."""

LARGEST = math.log(100)
"""A slowdown beyond a factor of 100 needs no statistics: none is published."""

_GRID = (np.arange(2000) + 0.5) / 2000


def power(slowdown: float, standard_error: float, pairs: int, margin: float) -> float:
    """The chance that `stats.verdict` says slower of an arm that is `slowdown` slower.

    Over pairs whose log ratios are normal: slower is said where the 95 % interval lies above 1 and the 90 %
    interval is not inside the margin. Where rounds of a pair differ, the standard error of the intervals
    counts their spread twice, and the chance is larger than said here.

    Args:
      slowdown: as a part of the time: 0.1 for a factor of 1.1.
      standard_error: of log(ratio), as the null shows it.
      margin: the relative difference within which two arms are equivalent.
    """
    freedom = pairs - 1
    # The spread that a run estimates varies from run to run: averaged over equally likely values of it.
    estimates = standard_error * _estimated_spreads(freedom)
    above_one = students_t(0.975, freedom) * estimates
    above_margin = math.log1p(margin) - students_t(0.95, freedom) * estimates
    thresholds = np.maximum(above_one, above_margin)
    return float(stats.norm.cdf((math.log1p(slowdown) - thresholds) / standard_error).mean())


@functools.cache
def _estimated_spreads(freedom: int) -> np.ndarray:
    """[len(_GRID)]: equally likely estimates of a standard deviation of 1."""
    return np.sqrt(stats.chi2.ppf(_GRID, freedom) / freedom)


def smallest_slowdown(standard_error: float, pairs: int, margin: float, probability: float = WANTED) -> float | None:
    """The slowdown that is called slower with chance `probability`; None where even a factor of 100 would not be.

    Args:
      standard_error: of log(ratio), as the null shows it.
      margin: the relative difference within which two arms are equivalent.
      probability: the chance, between 0 and 1.
    """

    def lacking(log: float) -> float:
        return power(math.expm1(log), standard_error, pairs, margin) - probability

    if pairs < 2 or standard_error <= 0 or lacking(LARGEST) < 0:
        return None
    return math.expm1(optimize.root_scalar(lacking, bracket=(0.0, LARGEST), xtol=1e-6).root)
