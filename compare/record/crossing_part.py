"""From which size on compiling wins: times by size, ratios with intervals that hold together, and where they cross."""

from __future__ import annotations

from compare.record.base import Count, Indices, Interval, Many, Named, Number, Part, Text, Verdict
from compare.record.envelope import Environment
from compare.record.timing_part import Ratio
from compare.record.workload_part import Failure


class SizeRatio(Part, frozen=True):
    """A ratio of times at one size; of functions, of a compiled mode over TensorFlow's graph mode."""

    pairs: Count = None
    """Pairs of fresh processes."""
    ratio: Number = None
    """Below 1 the first is faster; null where it is withheld."""
    interval: Interval = None
    """The interval at the level of the series; null with fewer than five pairs."""
    verdict: Text = ""
    """Faster or slower where the interval lies on one side of 1, else inconclusive."""
    withheld: Text = ""
    """Why there is no ratio; empty where there is one."""


class SizedRun(Part, frozen=True):
    """One function at one size."""

    size: Count = None
    """The size of the dimension of the series."""
    parity: Verdict = None
    """The verdict of parity at this size; without a pass there are no times."""
    reason: Text = ""
    """Why parity does not pass."""
    seconds: Named[Number] = {}
    """Seconds of a call by mode: the median over processes of their medians."""
    ratios: Named[SizeRatio] = {}
    """By "A vs B"."""
    null: Named[Ratio] = {}
    """The A/A control: identical code in two processes."""
    failures: Many[Failure] = ()
    """Results that are missing."""


class CrossingPoint(Part, frozen=True):
    """Where the interval of a ratio changes sides of 1."""

    ratio: Text = ""
    """Its name, "A vs B"."""
    at: Number = None
    """The size where the estimates cross 1 for the last time, on straight lines between logarithms."""
    between: Indices = ()
    """The last size that is decided one way, and the first that is decided the other way."""
    becomes: Text = ""
    """Faster or slower, from the second of both on."""
    undecided: Indices = ()
    """Sizes between the two, of which no interval decides."""


class SizeSeries(Part, frozen=True):
    """One function over several sizes of one dimension."""

    name: Text = ""
    summary: Text = ""
    dimension: Text = ""
    """Whose size varies."""
    level: Number = None
    """The level of each interval: all intervals of one ratio hold together with 95 % (Bonferroni)."""
    runs: Many[SizedRun] = ()
    """By rising size."""
    crossings: Many[CrossingPoint] = ()


class Crossings(Part, frozen=True):
    """Several functions, timed in the same processes."""

    schema: Count = None
    series: Many[SizeSeries] = ()
    threads: Count = None
    """Threads of every process."""
    environment: Environment | None = None
    interrupted: bool = False
    """Whether a signal ended it before all was timed."""
