"""When a run that is timed pair by pair may end, and what that costs its intervals.

A run that ends because an interval decides would be wrong too often with the intervals of a run of fixed length: it
ends where chance favours it. So the numbers of pairs at which a run may end, its looks, are fixed before, and the
chance to be wrong is divided among them. Each ratio's interval then holds whatever makes the run end at one of them:
Bonferroni's inequality over the looks, as in the repeated confidence intervals of C. Jennison and B. W. Turnbull,
Interim analyses: the repeated confidence interval approach, 1989,
https://doi.org/10.1111/j.2517-6161.1989.tb01433.x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.bench.stats import LEAST_PAIRS

_EARLY = 0.1
"""Part of the chance that each look before the pairs asked for has: large differences end there, others lose little."""

_MIDDLE = 8
"""Pairs of the second look: an interval of five is half as wide again."""


@dataclass(frozen=True)
class Look:
    """A number of pairs at which a run may end, and the part of the chance to be wrong that is used up there."""

    pairs: int
    share: float


def looks(pairs: int, most_pairs: int) -> Sequence[Look]:
    """Where a run of so many pairs may end: at 5, at 8, at the pairs asked for, and at the most.

    Args:
      pairs: that a run has which is not decided early.
      most_pairs: that it may have.
    """
    counts = sorted({count for count in (LEAST_PAIRS, _MIDDLE, pairs) if count < most_pairs and count <= pairs})
    early = [Look(count, _EARLY) for count in counts if count < pairs]
    late = [*(count for count in counts if count == pairs), most_pairs]
    return [*early, *(Look(count, (1 - _EARLY * len(early)) / len(late)) for count in late)]
