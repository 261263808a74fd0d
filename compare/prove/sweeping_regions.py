"""A pass swept region by region: what rules prove is not judged again, the rest runs from TensorFlow's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import executing, promote
from compare.hlo.align import align
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import STRUCTURE
from compare.hlo.pair import Pair
from compare.inputs.at_size import Prepared
from compare.parity import messages
from compare.parity.breaks import Extent, Outcome, Reached
from compare.parity.stability import BETTER, HOLDS, UNJUDGED
from compare.prove.region_calls import CutValues, OpenRegions, RegionCalls
from compare.prove.shared_parameters import updates
from compare.prove.subjects import cases, first_inputs, subjects, twin_of
from compare.prove.swept_calls import plan_calls
from compare.prove.whole_calls import compile_whole
from compare.record.parity_part import Call
from compare.record.vocabulary import PASS
from compare.regions.checking import find_faults
from compare.regions.feeding import find_more_matches
from compare.regions.parts import Region
from compare.regions.proving import Proofs, prove
from compare.regions.refining import Matched, find_refuted, without_matches
from compare.regions.splitting import split, without_determined
from workloads import _sweeps
from workloads._framework import Program
from workloads._spec import Arrays
from workloads._sweeps import Probe

_FINE = (HOLDS, BETTER, UNJUDGED)
_MOST_ROUNDS = 8
REFUTING_CALLS = 6
"""In which values have to agree to be a cut point: what they share in these, most calls of a sweep show too."""


@dataclass(frozen=True)
class SweptRegions:
    """A pass that holds wherever TensorFlow does.

    Attributes:
      reached: by swept input, how far.
      says: how it was judged, in a line.
    """

    reached: tuple[Reached, ...]
    says: str


def sweep_regions(pass_: str, prepared: Prepared, programs: Pair[Program], dtype: str) -> SweptRegions | None:
    """Judge a pass region by region; None where a region does not hold, or cannot be judged alone.

    Then nothing is known of the pass, and the caller sweeps both whole programs.

    Args:
      pass_: forward or gradients.
      prepared: the workload, and the arrays that it is judged on.
      programs: TensorFlow's and the port's.
      dtype: the narrowest type that is computed in.

    Raises:
      ProgramLost: a program ended the process that ran it, or did not end.
    """
    try:
        return _sweep(pass_, prepared, programs, dtype)
    except executing.ProgramLost:
        # Unreadable as well, but the process is gone.
        raise
    except (UnreadableProgram, promote.PromotionError):
        # What cannot be cut is swept whole.
        return None


def _sweep(pass_: str, prepared: Prepared, programs: Pair[Program], dtype: str) -> SweptRegions | None:
    probes = plan_calls(prepared.inputs, twin_of(prepared))
    base = first_inputs(twin_of(prepared), prepared.inputs)
    calls = [_sweeps.drawn(probe, prepared.inputs, base) for probe in probes]
    split = _prove(programs, prepared, calls)
    if split is None:
        return None
    outcomes = _judge(pass_, split, prepared, programs, calls, dtype)
    if outcomes is None:
        return None
    opened = len(split.opened.opened.regions) if split.opened else 0
    says = messages.regions_hold(pass_, split.regions, opened, len(probes))
    return SweptRegions(_reached(pass_, dict(zip(probes, outcomes, strict=True))), says)


def _judge(
    pass_: str, split: _Proved, prepared: Prepared, programs: Pair[Program], calls: Sequence[Arrays], dtype: str
) -> list[Outcome] | None:
    """What each call says; None as soon as a region does not hold in one, or the programs come grossly apart."""
    opened = split.opened
    whole, regions = compile_whole(programs, twin_of(prepared)), RegionCalls(pass_, opened, dtype) if opened else None
    outcomes: list[Outcome] = []
    at_once = min(whole.original.at_once, opened.at_once) if opened else whole.original.at_once
    for start in range(0, len(calls), at_once):
        part = calls[start : start + at_once]
        judged = regions.judge(part) if regions else [Outcome(HOLDS)] * len(part)
        holds = all(outcome.status in _FINE for outcome in judged)
        if not holds or not whole.agree(part, regions.vanishing if regions else 0.0):
            return None
        outcomes += judged
    return outcomes


@dataclass(frozen=True)
class _Proved:
    """Two programs, split.

    Attributes:
      regions: how many there are.
      opened: those that may give other bits; None where all are proved to give the same.
    """

    regions: int
    opened: OpenRegions | None


def _prove(programs: Pair[Program], prepared: Prepared, calls: Sequence[Arrays]) -> _Proved | None:
    """Split both programs at values that agree in calls of the sweep; None where regions do not cover both."""
    left, right = subjects(programs.left, programs.right)
    drawn = cases(programs.left, programs.right, prepared)
    alignment = align(left, right, STRUCTURE, drawn)
    if not alignment.is_equal:
        alignment = find_more_matches(alignment, drawn)
    # A variable that one program alone updates, such as a moving average, is not a result of the pass.
    left_behind = {
        side.results[place]
        for side, program in zip((left, right), programs, strict=True)
        for place in updates(program).values()
    }
    cut_values, refuting = CutValues(alignment.left.graph), _spread_out(calls)
    refuted = set[Matched]()
    for _ in range(_MOST_ROUNDS):
        regions = split(alignment)
        if set(regions.uncovered) - left_behind or find_faults(regions, alignment):
            return None
        proofs = prove(regions)
        if any(judged.reason for judged in proofs.judged):
            return None
        unproved = _unproved(proofs)
        if not unproved:
            return _Proved(len(proofs.judged), None)
        opened = OpenRegions.of(prepared, programs, proofs.regions, unproved, cut_values)
        more = find_refuted(regions.cut_points, opened.opened, opened.run_exactly(refuting))
        if not more:
            return _Proved(len(proofs.judged), opened)
        refuted |= more
        arguments_of = [opened.arguments(call) for call in refuting]
        alignment = without_matches(alignment, refuted)
        alignment = without_matches(find_more_matches(alignment, [*drawn, *arguments_of]), refuted)
    return None


def _spread_out(calls: Sequence[Arrays]) -> Sequence[Arrays]:
    """A few calls of a sweep, the first and the last among them."""
    return [calls[at] for at in sorted({round(at) for at in np.linspace(0, len(calls) - 1, REFUTING_CALLS)})]


def _unproved(proofs: Proofs) -> list[Region]:
    """The regions that may give other bits: an algebraic rule keeps neither the range nor the rounding."""
    return [without_determined(judged.region, proofs.regions) for judged in proofs.judged if judged.level != STRUCTURE]


def _reached(pass_: str, outcomes: Mapping[Probe, Outcome]) -> tuple[Reached, ...]:
    """How far each input may go: nothing breaks, and what was judged is what is said."""
    by_pattern: dict[str, dict[str, dict[Probe, Outcome]]] = {}
    for probe, outcome in outcomes.items():
        by_pattern.setdefault(probe.moved, {}).setdefault(probe.pattern, {})[probe] = outcome
    return tuple(
        Reached(moved, pass_, PASS, tuple(_extent(pattern, calls) for pattern, calls in patterns.items()))
        for moved, patterns in by_pattern.items()
    )


def _extent(pattern: str, outcomes: Mapping[Probe, Outcome]) -> Extent:
    said = sorted((probe.magnitude, outcome.status) for probe, outcome in outcomes.items())
    judged = [magnitude for magnitude, status in said if status != UNJUDGED] or [None]
    return Extent(pattern, judged[0], judged[-1], tuple(Call(*one) for one in said))
