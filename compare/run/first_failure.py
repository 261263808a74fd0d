"""Judges passes one after the other, the cheapest first, and says where the first that fails departs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.locate import Departure
from compare.hlo.promote import PromotionError
from compare.inputs.at_size import Prepared
from compare.inputs.request import Request
from compare.progress import Reporter
from compare.prove.both_sides import BothSides
from compare.prove.judging import judge_gates
from compare.prove.locating import describe_proof, locate_programs, source_line
from compare.prove.refused_cases import collect_accepted
from compare.prove.stability_gate import with_stability
from compare.record.parity_part import Comparison, Gate, Parity, Place
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS_WORDS
from compare.sides._side import SIDES
from compare.sides.pool import Pool
from workloads._framework import FORWARD, GRADIENTS, PASSES, STEP
from workloads._spec import STABILITY

_STAGES = ((FORWARD,), (FORWARD, GRADIENTS))
"""What is judged first, stage by stage; all passes come last."""

_PASS_OF_GATE = {"gradients": GRADIENTS, "training": STEP}
"""Of the gates that need more than the forward pass."""


def find_first_failure(
    pool: Pool, instance: Prepared, request: Request, reporter: Reporter
) -> tuple[BothSides, Parity] | None:
    """Judge the forward pass, then gradients too; None where no array of either fails.

    A gate that fails for another reason, such as outputs that are constant in all cases, is left to the whole run: that
    draws further cases.

    Args:
      pool: has the sides.
      instance: the workload, and the arrays that it is judged on.
      request: of the run.
      reporter: shows every step.

    Returns:
      What both sides delivered, and the verdict: gates of later passes are not judged.

    Raises:
      BadTarget: the function or file that was named for a side does not exist.
      RequestError: both sides return other nests.
    """
    for passes in _STAGES:
        sides, _ = collect_accepted(pool, instance, reporter, request.modes, passes)
        sides.check_structure()
        sides = sides.with_doubles()
        if any(map(sides.is_lost, SIDES)):
            return None
        parity = judge_gates(sides)
        if _find_failing(parity):
            parity = _explain_gap(instance.title, with_stability(sides, parity), passes)
            return sides, locate_failure(sides, parity)
        reporter.result(f"{instance.workload.name}: {PASS_WORDS[passes[-1]]}: no gate fails")
    return None


def locate_failure(sides: BothSides, parity: Parity) -> Parity:
    """The parity with the operations to blame in the first pass in which an array fails.

    Stability names the operations that break itself.

    Args:
      sides: one workload, with what both sides delivered of it.
      parity: of which a gate fails.
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
    reason = f"fail-fast stops where the {PASS_WORDS[max(passes, key=PASSES.index)]} fails"
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
