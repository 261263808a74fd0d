"""Evaluates the samples of a workload: medians, ratios if identical code agrees with itself, attribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from compare.bench import pairs, timing
from compare.bench.attribution import attribute
from compare.bench.timing import SLOWDOWNS
from compare.record import timing_part
from compare.record.timing_part import Attribution, Threads, Timing
from compare.record.workload_part import Failure
from compare.sides._side import SIDES
from workloads.core import modes
from workloads.core.modes import CONTROL_NAMES, Arm, Mode

PUBLIC = modes.Pair(modes.JAX_JIT, modes.TF_JIT)
"""The ratio that is attributed."""


@dataclass
class Samples:
    """The samples of one workload, set by set.

    Attributes:
      pairs: seconds, one entry a set of processes.
      phases: by arm, what it cost the process that compiled it.
      threads: as they were verified in those processes.
      failures: results that are missing.
    """

    pairs: list[pairs.Measured[Arm]] = field(default_factory=list)
    phases: dict[Arm, timing_part.Mode] = field(default_factory=dict)
    threads: Threads | None = None
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class Summary:
    """Times of one workload, and the attribution of its ratio; None where a time is missing or a ratio withheld."""

    timing: Timing
    attribution: Attribution | None


def medians(samples: Samples) -> dict[str, float]:
    """Seconds of a call by mode, as a user runs it."""
    rounds_by_arm = pairs.samples_of(samples.pairs)
    return {
        str(arm): timing.median(rounds) for arm, rounds in rounds_by_arm.items() if _is_public_mode(arm) and any(rounds)
    }


def summarise(samples: Samples, recorded_sides: Sequence[str], thread_count: int | None = None) -> Summary:
    """The record's timing and attribution of one workload, ratios withheld unless both sides used the threads asked.

    Args:
      recorded_sides: sides that were replayed: they have no second process.
      thread_count: number of threads; None left it to the frameworks.
    """
    rounds_by_arm = pairs.samples_of(samples.pairs)
    controls = _controls(rounds_by_arm)
    slowdowns = [slowdown for mode in controls for slowdown in _plant(mode) if slowdown.arm in rounds_by_arm]
    nulls = {Arm(mode): Arm(mode, copy=2) for mode in controls if mode.side not in recorded_sides}
    extra_arms = {*nulls.values(), *(slowdown.arm for slowdown in slowdowns)}
    rounds = {arm: seconds for arm, seconds in rounds_by_arm.items() if arm.is_public or arm in extra_arms}
    doubt = "" if thread_count is None else _doubt(samples.threads)
    result = timing.summarise(rounds, samples.phases, nulls, slowdowns, doubt, samples.threads)
    cells = {name: cell.median_s for name, cell in result.cells.items()}
    public = result.ratios.get(str(PUBLIC))
    # The published ratio is what is split: the factors' product is that number and no other.
    attribution = attribute(cells, 1.0, public.ratio) if public and public.ratio else None
    return Summary(result, attribution)


def _doubt(threads: Threads | None) -> str:
    if threads is not None and threads.equal:
        return ""
    return (threads and threads.reason) or "the threads of the two sides could not be verified"


def is_narrow(samples: Samples, precision: float) -> bool:
    """Whether identical code comes out close enough to itself; where no control was timed, more sets do not help."""
    rounds_by_arm = pairs.samples_of(samples.pairs)
    for mode in _controls(rounds_by_arm):
        null = timing.pair_ratio(rounds_by_arm, Arm(mode), Arm(mode, copy=2))
        if null is not None and null.half_width > precision:
            return False
    return True


def _controls(rounds_by_arm: timing.Samples) -> list[Mode]:
    """By side, the mode that is compared with itself: the first with times."""
    names_by_side = {
        side: [name for name in CONTROL_NAMES if any(rounds_by_arm.get(Arm(Mode(side, name)), ()))] for side in SIDES
    }
    return [mode for side, names in names_by_side.items() if (mode := control_of(side, names)) is not None]


def control_of(side: str, names: Sequence[str]) -> Mode | None:
    """The mode that is compared with itself, among some modes of a side; None if there is none."""
    return next((Mode(side, name) for name in CONTROL_NAMES if name in names), None)


def _plant(mode: Mode) -> list[timing.Planted]:
    """The planted differences of each process, compared with the other process."""
    other = {1: 2, 2: 1}
    return [timing.Planted(Arm(mode, copy, part), Arm(mode, other[copy])) for copy, part in SLOWDOWNS.items()]


def _is_public_mode(arm: Arm) -> bool:
    return arm.is_public and isinstance(arm.code, Mode)
