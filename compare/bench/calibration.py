"""What many runs of identical code say of the harness: does it hold what it promises?"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.bench.stats import SLOWER, half_width
from compare.bench.timing import RatioTiming, Timing


@dataclass(frozen=True)
class ModeCalibration:
    """One mode over all runs.

    Attributes:
      runs: in which the mode was held against itself.
      covered: of these, with a 95 % interval that contains 1.
      half_widths: of the 95 % intervals, as factors less 1, in the order of the runs.
      called: by planted slowdown, in how many runs the verdict said slower.
      planted: by planted slowdown, in how many runs it was timed.
      estimates: by planted slowdown, the median of what was measured; the truth is in its name.
      smallest: median over runs of the smallest slowdown that each published; None where none did.
    """

    runs: int
    covered: int
    half_widths: tuple[float, ...]
    called: Mapping[str, int]
    planted: Mapping[str, int]
    estimates: Mapping[str, float]
    smallest: float | None

    @property
    def half_width(self) -> float:
        """The median of the half-widths."""
        return statistics.median(self.half_widths)


def calibrate(runs: Sequence[Timing]) -> dict[str, ModeCalibration]:
    """By mode, what independent runs of the same plan found; runs in which a mode is missing count for nothing."""
    modes = dict.fromkeys(name.removesuffix(" vs itself") for run in runs for name in run.null)
    return {mode: found for mode in modes if (found := _mode(mode, runs)) is not None}


def _mode(mode: str, runs: Sequence[Timing]) -> ModeCalibration | None:
    intervals = [null.ci95 for run in runs if (null := run.null.get(f"{mode} vs itself")) and null.ci95]
    if not intervals:
        return None
    planted = _planted(mode, runs)
    smallest = [each for run in runs if (each := run.power.smallest.get(mode)) is not None]
    return ModeCalibration(
        runs=len(intervals),
        covered=sum(low <= 1 <= high for low, high in intervals),
        half_widths=tuple(half_width(interval) for interval in intervals),
        called={name: sum(each.verdict == SLOWER for each in found) for name, found in planted.items()},
        planted={name: len(found) for name, found in planted.items()},
        estimates={
            name: statistics.median(each.ratio for each in found if each.ratio) for name, found in planted.items()
        },
        smallest=statistics.median(smallest) if smallest else None,
    )


def _planted(mode: str, runs: Sequence[Timing]) -> dict[str, list[RatioTiming]]:
    found: dict[str, list[RatioTiming]] = {}
    for run in runs:
        for name, each in run.power.planted.items():
            if name.startswith(f"{mode} +") and each.ratio is not None:
                found.setdefault(name.removeprefix(f"{mode} "), []).append(each)
    return found
