"""Judges passes one after the other, the cheapest first, and says where the first that fails departs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.locate import Departure
from compare.hlo.promote import PromotionError
from compare.prove.both_sides import BothSides
from compare.prove.judging import judge_gates
from compare.prove.locating import describe_proof, locate_programs, source_line
from compare.prove.stability_gate import with_stability
from compare.record.parity_part import Comparison, Gate, Parity, Place
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS_WORDS
from compare.sides._side import SIDES
from workloads.core.spec import STABILITY
from workloads.protocol.framework import FORWARD, GRADIENTS, PASSES, STEP

_PASS_OF_GATE = {"gradients": GRADIENTS, "training": STEP}
"""The passes of the gates that need more than the forward pass."""


def judge_first_failure(sides: BothSides, passes: Collection[str]) -> Parity | None:
    """The verdict on the passes that were run so far, with the place to blame; None where no array of them fails.

    A gate that fails for another reason, such as outputs that are constant in all cases, is left to the whole run: that
    draws further cases.

    Args:
      sides: one workload, with what both sides delivered of these passes, and their float64 evidence.
      passes: the passes; gates of others are not judged.
    """
    if any(map(sides.is_lost, SIDES)):
        return None
    parity = judge_gates(sides)
    if not _find_failing(parity):
        return None
    return locate_failure(sides, _explain_gap(sides.instance.title, with_stability(sides, parity), passes))


def locate_failure(sides: BothSides, parity: Parity) -> Parity:
    """The parity with the operations to blame in the first pass in which an array fails.

    Stability names the operations that break itself.
    """
    failing = _find_failing(parity)
    if not failing:
        return parity
    first = min(failing, key=lambda comparison: PASSES.index(comparison.pass_))
    sides.reporter.step(f"locating what differs in the {PASS_WORDS[first.pass_]}")
    return replace(parity, places=_locate(sides, first.pass_, first.case))


def _find_failing(parity: Parity) -> Sequence[Comparison]:
    """The comparisons that fail, but for those of far inputs."""
    return [
        comparison
        for name, gate in parity.gates.items()
        for comparison in gate.comparisons
        if name != STABILITY and comparison.verdict == FAIL and comparison.pass_ in PASSES
    ]


def _explain_gap(workload: str, parity: Parity, passes: Collection[str]) -> Parity:
    """Say why gates of other passes are not judged. Only of the training step is it known whether it applies."""
    reason = f"fail-fast stops at the first failure, in the {PASS_WORDS[max(passes, key=PASSES.index)]}"
    gates = {
        name: Gate(NOT_JUDGED, reason=f"{workload}: {name} gate: {reason}") if _is_unasked(name, gate, passes) else gate
        for name, gate in parity.gates.items()
    }
    return replace(parity, gates=gates)


def _is_unasked(name: str, gate: Gate, passes: Collection[str]) -> bool:
    pass_ = _PASS_OF_GATE.get(name, FORWARD)
    return pass_ not in passes and not (pass_ == STEP and gate.verdict == NOT_APPLICABLE)


def _locate(sides: BothSides, pass_: str, case: str) -> tuple[Place, ...]:
    """The operations to blame; where there is none, one place that says why. The verdict stands all the same."""
    programs = sides.programs(pass_)
    if programs is None:
        return (_explain_absence(pass_, "a side gave no program"),)
    try:
        departures = locate_programs(programs.left, programs.right, sides.instance, case).departures
    except (PromotionError, UnreadableProgram) as error:
        return (_explain_absence(pass_, str(error)),)
    if not departures:
        return (_explain_absence(pass_, "both programs agree, run apart from their frameworks in the drawn cases"),)
    return tuple(_describe(pass_, departure, len(departures)) for departure in departures)


def _explain_absence(pass_: str, reason: str) -> Place:
    return Place(pass_=pass_, difference=f"no operation is located: {reason}")


def _describe(pass_: str, departure: Departure, count: int) -> Place:
    return Place(
        pass_=pass_,
        operation=f"{departure.kind} {departure.op}",
        tf_line=source_line(departure.left),
        jax_line=source_line(departure.right),
        difference=departure.difference,
        cause=departure.cause,
        remedy=departure.remedy,
        gotchas=departure.gotchas,
        proof=describe_proof(departure, count),
    )
