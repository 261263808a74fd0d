"""A pass swept region by region: what rules prove is not judged again, the rest runs from TensorFlow's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.hlo import executing, promote
from compare.hlo.align import align
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import STRUCTURE
from compare.hlo.pair import Pair
from compare.inputs.at_size import Prepared
from compare.parity import messages
from compare.parity.breaks import Extent, Outcome, Reached
from compare.parity.stability import BETTER, HOLDS, UNJUDGED
from compare.prove.region_calls import RegionCalls
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
from compare.regions.splitting import split, without_determined
from workloads import _sweeps
from workloads._framework import Program
from workloads._sweeps import Probe

_FINE = (HOLDS, BETTER, UNJUDGED)


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
        proofs = _prove(programs, prepared)
        return None if proofs is None else _swept(pass_, prepared, programs, proofs, dtype)
    except executing.ProgramLost:
        # Unreadable as well, but the process is gone.
        raise
    except (UnreadableProgram, promote.PromotionError):
        # What cannot be cut is swept whole.
        return None


def _swept(pass_: str, prepared: Prepared, programs: Pair[Program], proofs: Proofs, dtype: str) -> SweptRegions | None:
    opened = _unproved(proofs)
    probes = plan_calls(prepared.inputs, twin_of(prepared))
    calls = RegionCalls(pass_, prepared, programs, opened, proofs.regions, dtype) if opened else None
    outcomes = _judge(calls, prepared, programs, probes)
    if outcomes is None:
        return None
    says = messages.regions_hold(pass_, len(proofs.judged), len(opened), len(probes))
    return SweptRegions(_reached(pass_, outcomes), says)


def _judge(
    calls: RegionCalls | None, prepared: Prepared, programs: Pair[Program], probes: Sequence[Probe]
) -> dict[Probe, Outcome] | None:
    """What each call says; None as soon as a region does not hold in one, or the programs come grossly apart."""
    twin = twin_of(prepared)
    whole, base = compile_whole(programs, twin), first_inputs(twin, prepared.inputs)
    outcomes: dict[Probe, Outcome] = {}
    at_once = min(whole.original.at_once, calls.at_once) if calls else whole.original.at_once
    for start in range(0, len(probes), at_once):
        part = probes[start : start + at_once]
        inputs = [_sweeps.drawn(probe, prepared.inputs, base) for probe in part]
        judged = calls.judge(inputs) if calls else [Outcome(HOLDS)] * len(part)
        holds = all(outcome.status in _FINE for outcome in judged)
        if not holds or not whole.agree(inputs, calls.vanishing if calls else 0.0):
            return None
        outcomes |= zip(part, judged, strict=True)
    return outcomes


def _prove(programs: Pair[Program], prepared: Prepared) -> Proofs | None:
    """What rules prove of the regions of both programs; None where they do not cover both."""
    left, right = subjects(programs.left, programs.right)
    drawn = cases(programs.left, programs.right, prepared)
    alignment = align(left, right, STRUCTURE, drawn)
    if not alignment.is_equal:
        alignment = find_more_matches(alignment, drawn)
    regions = split(alignment)
    # A variable that one program alone updates, such as a moving average, is not a result of the pass.
    left_behind = {
        side.results[place]
        for side, program in zip((left, right), programs, strict=True)
        for place in updates(program).values()
    }
    if set(regions.uncovered) - left_behind or find_faults(regions, alignment):
        return None
    proofs = prove(regions)
    return None if any(judged.reason for judged in proofs.judged) else proofs


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
