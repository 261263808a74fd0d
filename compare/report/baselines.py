"""Every mode's time over that of one mode, the baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from compare.record.base import Interval, Number
from compare.record.envelope import Record
from compare.record.program_parts import Profile
from compare.record.timing_part import Ratio, Timing
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.showable import present
from compare.report.tables import RatioRow, order_modes, ratio_row, recorded_ratio
from workloads.core.modes import Mode, Pair, recorded_mode

_MIRRORED = {"faster": "slower", "slower": "faster"}


@dataclass(frozen=True)
class Against:
    """One workload's modes against the baseline.

    Attributes:
      name: of the workload.
      rows: by mode, the ratio of its time to the baseline's; empty where `reason` says why there is none.
      reason: why there is no ratio.
    """

    name: str
    rows: tuple[tuple[Mode, RatioRow], ...]
    reason: str = ""


def against(record: Record, baseline: Mode) -> tuple[Against, ...]:
    """Every workload's modes that were compared with one of them, eager before compiled.

    Args:
      baseline: what every time is divided by.
    """
    return tuple(_against(name, workload, baseline) for name, workload in record.workloads.items())


def _against(name: str, workload: Workload, baseline: Mode) -> Against:
    timing = workload.timing or Timing()
    modes = [mode for text in order_modes(timing.modes) if (mode := recorded_mode(text))]
    rows = [(mode, row) for mode in modes if (row := _find_ratio(timing, mode, baseline))]
    return Against(name, tuple(rows), "" if rows else _missing(workload, modes, baseline))


def _find_ratio(timing: Timing, mode: Mode, baseline: Mode) -> RatioRow | None:
    """The ratio of a mode to the baseline; where the record has that of the baseline to the mode, turned round."""
    pair, inverse = Pair(mode, baseline), Pair(baseline, mode)
    ratio = present(timing.ratios.get(str(inverse)))
    return recorded_ratio(timing, pair) or (ratio_row(str(pair), _inverse(ratio)) if ratio else None)


def _inverse(ratio: Ratio) -> Ratio:
    return msgspec.structs.replace(
        ratio,
        ratio=_one_over(ratio.ratio),
        ci95=_invert(ratio.ci95),
        ci99=_invert(ratio.ci99),
        verdict=_MIRRORED.get(ratio.verdict, ratio.verdict),
    )


def _invert(interval: Interval) -> Interval:
    return None if interval is None else (_one_over(interval[1]), _one_over(interval[0]))


def _one_over(number: Number) -> Number:
    if number in (math.inf, "inf"):
        return 0.0
    value = numbers.finite(number)
    return None if value is None else 1 / value if value else math.inf


def _missing(workload: Workload, modes: list[Mode], baseline: Mode) -> str:
    if baseline in modes:
        return f"no other mode was held against {baseline}"
    same = workload.profile.get(str(baseline), Profile()).same_as
    return f"{baseline} compiled nothing of its own: it is {same}" if same else f"{baseline} was not timed"
