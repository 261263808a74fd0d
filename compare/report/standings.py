"""Whether jax/jit is ahead in a workload, and why not. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compare.record.parity_part import Parity
from compare.record.timing_part import Timing
from compare.record.vocabulary import FAIL, NOT_JUDGED
from compare.record.workload_part import Workload
from compare.report import attributions, numbers, tables
from compare.report.tables import RatioRow, order_modes, recorded_ratio
from workloads.core.modes import (
    JAX_DONATED,
    JAX_RETAINED,
    JAX_SYNCHRONOUS,
    JAX_TUNED,
    PORT,
    TF_JIT,
    Mode,
    Pair,
    recorded_mode,
)

FASTER = "faster"

_RELATIONS = {"slower": "slower than", "equivalent": "equivalent to", "inconclusive": "inconclusive against"}

_OTHER_MODES = {
    JAX_DONATED: "updating its state in place, as TensorFlow does,",
    JAX_TUNED: "with its compiler options",
    JAX_RETAINED: "with memory that the C library keeps",
    JAX_SYNCHRONOUS: "without asynchronous dispatch",
}


@dataclass(frozen=True)
class Standing:
    """Whether jax/jit is ahead in one workload, in one sentence."""

    workload: str
    ahead: bool
    sentence: str


def standing(name: str, workload: Workload) -> Standing:
    """Ahead only where the verdict against every timed TF mode is faster: which of them is the fastest is measured too.

    The sentence names the TF mode of the lowest median, or every mode that is not beaten, with what the attribution
    gives as the reason where tf/jit is one of these, or the record. The workload is escaped.
    """
    medians = _tf_medians(workload)
    if not medians:
        return Standing(name, False, _untimed_reason(workload))
    timing = workload.timing or Timing()
    rows = {mode: recorded_ratio(timing, Pair(PORT, mode)) for mode in medians}
    unbeaten = [mode for mode, row in rows.items() if row is None or row.withheld or row.verdict != FASTER]
    if not unbeaten:
        best = min(medians, key=lambda mode: medians[mode])
        row = rows[best]
        assert row is not None
        sentence = f"{row.ratio} {row.interval} of the time of {best}, the fastest TF mode"
        return Standing(name, True, "; ".join([sentence, *_other_modes(workload)]))
    reasons = _reasons({mode: rows[mode] for mode in unbeaten})
    # What tf/jit does otherwise says nothing of a mode that is not compiled.
    costs = attributions.costliest_in_words(workload) if TF_JIT in unbeaten else ""
    return Standing(name, False, "; ".join([*reasons, *filter(None, [costs]), *_other_modes(workload)]))


def _tf_medians(workload: Workload) -> dict[Mode, float]:
    timing = workload.timing or Timing()
    modes = [mode for name in order_modes(timing.modes) if (mode := recorded_mode(name))]
    medians = {mode: tables.median(timing, mode) for mode in modes if mode.is_original}
    return {mode: median for mode, median in medians.items() if median is not None}


def _reasons(rows: Mapping[Mode, RatioRow | None]) -> Iterator[str]:
    """A sentence on each mode; modes with the same reason for withholding share one."""
    modes_by_reason: dict[str, list[Mode]] = {}
    for mode, row in rows.items():
        if row is None:
            modes_by_reason.setdefault("no ratio in the record", []).append(mode)
        elif row.withheld:
            modes_by_reason.setdefault(f"withheld: {row.withheld}", []).append(mode)
        else:
            yield f"{_RELATIONS.get(row.verdict, row.verdict)} {mode}, {row.ratio} {row.interval}"
    for reason, modes in modes_by_reason.items():
        yield f"against {', '.join(map(str, modes))} {reason}"


def _other_modes(workload: Workload) -> Iterator[str]:
    """Sentences on the port's other compiled modes; none on a mode that it lacks or without times."""
    for mode, how in _OTHER_MODES.items():
        row = tables.against_best(workload, mode)
        if row:
            yield f"{how} {row.name}: {ratio_cell(row)}"


def _untimed_reason(workload: Workload) -> str:
    if (workload.parity or Parity()).verdict == FAIL:
        return "not timed: parity fails"
    if (workload.parity or Parity()).verdict == NOT_JUDGED:
        return "not timed: parity is not judged"
    reasons = [failure.reason for failure in workload.failures]
    if reasons:
        return f"not timed: {reasons[0]}"
    programs = tables.of_programs(workload)
    beside = f"; {programs.name}: {ratio_cell(programs)}" if programs else ""
    return f"not timed: no TF mode has a time in the record{beside}"


def ratio_cell(row: RatioRow | None) -> str:
    """One ratio in one cell; the reason of a withheld one stands elsewhere on the page."""
    if row is None:
        return numbers.MISSING
    return "withheld" if row.withheld else f"{row.ratio} {row.interval} {row.verdict}"
