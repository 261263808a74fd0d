"""Where a series of ratios crosses 1: between which sizes, and at which by interpolation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from compare.bench.stats import FASTER, INCONCLUSIVE, SLOWER, Interval


@dataclass(frozen=True)
class Point:
    """A ratio of times at one size; None where it is withheld, then without an interval too."""

    size: int
    ratio: float | None = None
    interval: Interval | None = None

    @property
    def side(self) -> str:
        """Faster or slower where the interval lies on one side of 1, else inconclusive."""
        if self.ratio is None or self.interval is None:
            return INCONCLUSIVE
        low, high = self.interval
        return FASTER if high < 1 else SLOWER if low > 1 else INCONCLUSIVE


@dataclass(frozen=True)
class Crossing:
    """A change of sides.

    Attributes:
      between: the last size that is decided one way, and the first that is decided the other way.
      at: the size where the estimates cross 1 for the last time between them.
      becomes: faster or slower, from the second size on.
      undecided: sizes between the two, of which no interval decides.
    """

    between: tuple[int, int]
    at: float
    becomes: str
    undecided: tuple[int, ...] = ()


def crossings(points: Sequence[Point]) -> list[Crossing]:
    """Every change of sides, by size.

    Raises:
      ValueError: their sizes do not rise.
    """
    if any(one.size >= other.size for one, other in pairwise(points)):
        raise ValueError(f"expected sizes that rise, found {[point.size for point in points]}")
    conclusive = [place for place, point in enumerate(points) if point.side != INCONCLUSIVE]
    changes = [(one, other) for one, other in pairwise(conclusive) if points[one].side != points[other].side]
    return [_crossing(points[one : other + 1]) for one, other in changes]


def _crossing(points: Sequence[Point]) -> Crossing:
    """The crossing of points whose first and last lie on different sides of 1."""
    first, last = points[0], points[-1]
    between = tuple(point.size for point in points[1:-1])
    return Crossing((first.size, last.size), _last_crossing(points), last.side, between)


def _last_crossing(points: Sequence[Point]) -> float:
    """By straight lines between logarithms of ratios over logarithms of sizes."""
    logarithms = [(math.log(point.size), math.log(point.ratio)) for point in points if point.ratio is not None]
    final = logarithms[-1][1]
    (size, log), (next_size, next_log) = next(
        (one, other) for one, other in reversed(list(pairwise(logarithms))) if one[1] * final <= 0
    )
    return math.exp(size + (next_size - size) * log / (log - next_log))
