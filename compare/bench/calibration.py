"""Tests the harness with many runs of identical code: are its intervals as reliable as it states?"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.bench.stats import SLOWER, Interval, half_width
from compare.bench.timing import SLOWDOWNS, itself, percent, planted_name
from compare.record.timing_part import Ratio, Timing
from workloads.core.modes import MODES, Arm, Mode, parse_mode


@dataclass(frozen=True)
class ModeCalibration:
    """One mode over all runs.

    Attributes:
      runs: in which the mode was compared with itself.
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
    timed_modes = dict.fromkeys(parse_mode(name) for run in runs for name in run.modes)
    modes = dict.fromkeys([*MODES, *timed_modes])
    calibrations = ((str(mode), _mode(mode, runs)) for mode in modes)
    return {name: mode for name, mode in calibrations if mode is not None}


def _mode(mode: Mode, runs: Sequence[Timing]) -> ModeCalibration | None:
    intervals = [interval for run in runs if (interval := _control_interval(run.null.get(itself(Arm(mode)))))]
    if not intervals:
        return None
    ratios_by_slowdown = _ratios_by_slowdown(mode, runs)
    smallest = [slowdown for run in runs if run.power and (slowdown := run.power.smallest.get(str(mode))) is not None]
    return ModeCalibration(
        runs=len(intervals),
        covered=sum(low <= 1 <= high for low, high in intervals),
        half_widths=tuple(half_width(interval) for interval in intervals),
        called={name: sum(ratio.verdict == SLOWER for ratio in ratios) for name, ratios in ratios_by_slowdown.items()},
        planted={name: len(ratios) for name, ratios in ratios_by_slowdown.items()},
        estimates={
            name: statistics.median(ratio.ratio for ratio in ratios if ratio.ratio)
            for name, ratios in ratios_by_slowdown.items()
        },
        smallest=statistics.median(smallest) if smallest else None,
    )


def _control_interval(null: Ratio | None) -> Interval | None:
    """The interval of a control; None where it has none."""
    low, high = (null.ci95 if null else None) or (None, None)
    return None if low is None or high is None else (low, high)


def _ratios_by_slowdown(mode: Mode, runs: Sequence[Timing]) -> dict[str, list[Ratio]]:
    """By "+5 %", the ratios of all runs that measured such an arm."""
    ratios_by_slowdown: dict[str, list[Ratio]] = {}
    for slowdown in SLOWDOWNS.values():
        rows = (run.power.planted.get(planted_name(Arm(mode, slowdown=slowdown))) for run in runs if run.power)
        ratios = [row for row in rows if row is not None and row.ratio is not None]
        if ratios:
            ratios_by_slowdown[percent(slowdown)] = ratios
    return ratios_by_slowdown
