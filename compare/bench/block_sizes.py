"""How large compiled blocks of a chain of layers have to be: what compiling the whole chain gains, by block."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from compare.bench import stats
from compare.bench.stats import Interval, Rounds

LEAST_GAIN = 0.05
"""A part of the time below which compiling more at once is not worth it."""


@dataclass(frozen=True)
class Blocks:
    """The time of a chain in blocks of so many layers, over that of the chain compiled whole; None where withheld."""

    layers: int
    ratio: float | None = None
    interval: Interval | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything can be said of it."""
        return self.ratio is not None and self.interval is not None

    @property
    def is_too_small(self) -> bool:
        """Whether larger blocks gain: the interval lies above 1, and the gain by the estimate is worth it."""
        return (
            self.ratio is not None
            and self.interval is not None
            and self.interval[0] > 1
            and self.ratio > 1 / (1 - LEAST_GAIN)
        )

    @property
    def is_enough(self) -> bool:
        """Whether the whole interval lies below the gain that is worth it."""
        return self.interval is not None and self.interval[1] < 1 / (1 - LEAST_GAIN)


@dataclass(frozen=True)
class Advice:
    """The least block from which on none that was timed is too small.

    Attributes:
      layers: of that block; None where that is not known, or even the largest is too small.
      shown: whether the intervals of it and of all larger ones lie below the gain that is worth it; else they include
        1, or a gain that is too small, without excluding a larger one.
    """

    layers: int | None
    shown: bool = False


def advice(blocks: Sequence[Blocks]) -> Advice:
    """The advice on the size of blocks; `blocks` are ordered from small to large."""
    enough: list[Blocks] = []
    for block in reversed(blocks):
        if not block.is_known or block.is_too_small:
            break
        enough.append(block)
    return Advice(enough[-1].layers, all(block.is_enough for block in enough)) if enough else Advice(None)


def link(a: Rounds, through: Rounds, base: Rounds, base_through: Rounds) -> stats.Ratio | None:
    """The ratio of two arms that did not run in the same rounds, through a third one that ran beside both.

    One value for each pair: the median over rounds of log(a / through) minus that of log(base / base_through). None if
    there is no pair in which all four ran.

    Args:
      a: seconds by pair, then round.
      base: seconds by pair, then round.
    """
    ones: list[list[float]] = []
    others: list[list[float]] = []
    for pair in zip(a, through, base, base_through, strict=False):
        if all(pair):
            ones.append([_over(pair[0], pair[1])])
            others.append([_over(pair[2], pair[3])])
    return stats.ratio(ones, others) if ones else None


def _over(one: Sequence[float], other: Sequence[float]) -> float:
    """The median ratio of two arms in the rounds that both took part in."""
    both = zip(one, other, strict=False)
    return math.exp(statistics.median(math.log(mine / its) for mine, its in both))
