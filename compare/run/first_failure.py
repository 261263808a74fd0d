"""Judges passes one after the other, the cheapest first, and says where the first that fails departs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.locate import Departure, OperationPlace
from compare.inputs.at_size import Prepared
from compare.inputs.request import Request
from compare.progress import Reporter
from compare.prove.both_sides import BothSides
from compare.prove.judging import judge_gates
from compare.prove.locating import describe_proof, locate_programs
from compare.prove.refused_cases import collect_accepted
from compare.prove.stability_gate import with_stability
from compare.record.parity_part import Gate, Parity, Place
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS_WORDS
from compare.sides.pool import Pool
from workloads._framework import FORWARD, GRADIENTS, PASSES, STEP

_STAGES = ((FORWARD,), (FORWARD, GRADIENTS))
"""Passes that are judged before all are. What was asked in one is remembered in the next."""

_PASS_OF_GATE = {
    "structure": FORWARD, "semantics": FORWARD, "rounding": FORWARD, "gradients": GRADIENTS, "training": STEP
}  # fmt: skip
"""The last gate names the places that break itself."""


def find_first_failure(
    pool: Pool, instance: Prepared, request: Request, reporter: Reporter
) -> tuple[BothSides, Parity] | None:
    """Judge the forward pass, then gradients too; None where both hold, or are not judged.

    Args:
      pool: has the sides, which remember what they answered.
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
        parity = judge_gates(sides)
        if parity.verdict == FAIL:
            parity = _explain_gap(instance.title, with_stability(sides, parity), passes)
            return sides, locate_failure(sides, parity)
        reporter.result(f"{instance.workload.name}: {PASS_WORDS[passes[-1]]}: no gate fails")
    return None


def locate_failure(sides: BothSides, parity: Parity) -> Parity:
    """The parity with the operations to blame in the first pass that fails.

    Args:
      sides: one workload, with what both sides delivered of it.
      parity: of which a gate fails.
    """
    passes = {_PASS_OF_GATE.get(name) for name, gate in parity.gates.items() if gate.verdict == FAIL}
    pass_ = next((pass_ for pass_ in PASSES if pass_ in passes), None)
    if pass_ is None:
        return parity
    sides.reporter.step(f"locating what differs in the {PASS_WORDS[pass_]}")
    return replace(parity, places=_locate(sides, pass_, _find_case(parity, pass_)))


def _find_case(parity: Parity, pass_: str) -> str:
    """The first case that a pass fails in; empty where none has its own comparison."""
    comparisons = (comparison for gate in parity.gates.values() for comparison in gate.comparisons)
    return next((one.case for one in comparisons if one.verdict == FAIL and one.pass_ == pass_), "")


def _explain_gap(workload: str, parity: Parity, passes: Sequence[str]) -> Parity:
    """Say why gates of other passes are not judged: whether they apply was not asked, but for a training step."""
    reason = f"fail-fast stops where the {PASS_WORDS[passes[-1]]} fails"
    gates = {
        name: Gate(NOT_JUDGED, reason=f"{workload}: {name} gate: {reason}") if _is_unasked(name, gate, passes) else gate
        for name, gate in parity.gates.items()
    }
    return replace(parity, gates=gates)


def _is_unasked(name: str, gate: Gate, passes: Sequence[str]) -> bool:
    pass_ = _PASS_OF_GATE.get(name)
    return pass_ not in (None, *passes) and not (pass_ == STEP and gate.verdict == NOT_APPLICABLE)


def _locate(sides: BothSides, pass_: str, case: str) -> tuple[Place, ...]:
    """The operations to blame; none where a side has no program, or XLA does not take one."""
    programs = sides.programs(pass_)
    if programs is None:
        return ()
    try:
        departures = locate_programs(programs.left, programs.right, sides.instance, case).departures
    except UnreadableProgram:
        # The verdict stands without a place: `jaxport locate` says why there is none.
        return ()
    return tuple(_describe(pass_, departure, len(departures)) for departure in departures)


def _describe(pass_: str, departure: Departure, count: int) -> Place:
    return Place(
        pass_=pass_,
        operation=f"{departure.kind} {departure.op}",
        tf_line=_line(departure.left),
        jax_line=_line(departure.right),
        difference=departure.difference,
        cause=departure.cause,
        remedy=departure.remedy,
        proof=describe_proof(departure, count),
    )


def _line(place: OperationPlace | None) -> str:
    return place.source if place else ""
