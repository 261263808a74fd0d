"""Every mode's time over that of one mode, the baseline."""

from __future__ import annotations

from dataclasses import dataclass

from compare.record.envelope import Record
from compare.record.program_parts import Profile
from compare.record.timing_part import Timing
from compare.record.workload_part import Workload
from compare.report.tables import RatioRow, ordered, recorded_ratio
from workloads._modes import Mode, Pair, recorded_mode


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
    """Every workload's modes that were held against one of them, eager before compiled.

    Args:
      record: of a run.
      baseline: what every time is divided by.
    """
    return tuple(_against(name, workload, baseline) for name, workload in record.workloads.items())


def _against(name: str, workload: Workload, baseline: Mode) -> Against:
    timing = workload.timing or Timing()
    modes = [mode for text in ordered(timing.modes) if (mode := recorded_mode(text))]
    rows = [(mode, row) for mode in modes if (row := recorded_ratio(timing, Pair(mode, baseline)))]
    return Against(name, tuple(rows), "" if rows else _missing(workload, modes, baseline))


def _missing(workload: Workload, timed: list[Mode], baseline: Mode) -> str:
    if baseline in timed:
        return f"no other mode was held against {baseline}"
    same = workload.profile.get(str(baseline), Profile()).same_as
    return f"{baseline} compiled nothing of its own: it is {same}" if same else f"{baseline} was not timed"
