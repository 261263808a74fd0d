"""From two programs to the operations where they first differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo.causes import CHANGED, GATES, MISSING, PARTS, UNKNOWN, Cause
from compare.hlo.levels import STRUCTURE, Subject, at_level
from compare.hlo.locate import _inside_regions, _naming
from compare.hlo.locate._attempts import Attempt, Parting, part
from compare.hlo.locate._blame import Blamed, assign_blame, place, where_missing
from compare.hlo.locate._canonical import Case, Computation, program
from compare.hlo.locate._clues import clue
from compare.hlo.locate._departing import MeasuredProgram, agreement
from compare.hlo.locate._edges import only_at_edges
from compare.hlo.locate._findings import Departure, Findings, OperationPlace, Sample
from compare.hlo.locate._measured import DOUBLE, MeasuredValues, Precision, distance, exact, measure, size
from compare.hlo.locate._parts import Reordered, find_reordering
from compare.hlo.locate._proofs import cause_of, cause_of_all
from compare.hlo.locate._search import board, mends, search
from compare.hlo.locate._spot import spots
from compare.hlo.locate._switches import Given, Switchboard
from compare.hlo.region_programs import State

_MOST = 8
"""The most departures that are searched for in one program."""

_MOST_OPERATIONS = 64
"""The most operations behind a result that are tried alone when no given values make all results agree."""


Found = tuple[Parting, Attempt | None]


@dataclass(frozen=True, eq=False)
class RanProgram:
    """A computation that was run on the cases of one side."""

    side: MeasuredProgram
    arguments: Sequence[Sequence[np.ndarray]]
    smooth: Sequence[bool]
    precision: Precision


@dataclass(frozen=True, eq=False)
class Searched:
    """Both programs, whether all results agree with what was found, and whether that is one departure alone."""

    left: RanProgram
    right: RanProgram
    confirmed: bool
    alone: bool


def ran(subject: Subject, arguments: Sequence[Sequence[np.ndarray]], smooth: Sequence[bool],
        precision: Precision = DOUBLE) -> RanProgram:  # fmt: skip
    """A program in its canonical form, and all of its values on every case.

    Args:
      arguments: by case, arrays in the order of its parameters.
      smooth: by case, whether a small change of the arguments makes a small change of every value.

    Raises:
      UnreadableProgram: it cannot be read, or run by this process's XLA.
    """
    form = at_level(subject, STRUCTURE)
    return run_computation(
        program(subject.label, form.graph, subject.parameters, subject.results), arguments, smooth, precision
    )


def run_computation(computation: Computation, arguments: Sequence[Sequence[np.ndarray]], smooth: Sequence[bool],
                    precision: Precision) -> RanProgram:  # fmt: skip
    """The values of a computation in each case."""
    return RanProgram(
        MeasuredProgram(computation, measure(computation, arguments, smooth, precision), tuple(smooth)),
        arguments,
        smooth,
        precision,
    )


def locate(left: Subject, right: Subject, cases: Sequence[Case], precision: Precision = DOUBLE) -> Findings:
    """The operations of the right program whose value departs from the left's while what they read agrees.

    Raises:
      UnreadableProgram: a program cannot be read or run.
    """
    smooth = [case.smooth for case in cases]
    return between(
        ran(left, [case.left for case in cases], smooth, precision),
        ran(right, [case.right for case in cases], smooth, precision),
    )


def between(left: RanProgram, right: RanProgram) -> Findings:
    """The departures between two programs that were run."""
    parting = part(left.side, right.side, agreement(left.side, right.side))
    if not parting.results:
        return Findings((), ())
    whole = find_reordering(parting, right.arguments)
    if whole is not None:
        return Findings((_of_parts(parting, whole),), tuple(parting.results))
    partings, is_confirmed = _find_attempts(parting, right.arguments)
    one_cause = None if is_confirmed and len(partings) == 1 else _explain_all(parting, left, right)
    if one_cause is not None:
        return Findings((one_cause,), tuple(parting.results))
    search_result = Searched(left, right, is_confirmed, alone=len(partings) == 1)
    departures = merge(
        departure
        for attempt_parting, attempt in partings
        for departure in _departures(search_result, attempt_parting, attempt)
    )
    cascade = parting.departed.map(lambda keys: max(len(keys) - len(departures), 0))
    return Findings(tuple(departures), tuple(parting.results), cascade)


def _explain_all(parting: Parting, left: RanProgram, right: RanProgram) -> Departure | None:
    """One change to the port that gives every result, however many values it changes on the way; None of none."""
    blame = assign_blame(parting, None)
    every = spots(parting, None, blame, clue(parting, None, blame), lambda: only_at_edges(left, right))
    small = all(len(spot.theirs.computing) <= _MOST_OPERATIONS for spot in every)
    cause = cause_of_all(every) if small else None
    # No value is told: those of the operations that are named may be of two formulas.
    return cause and dataclasses.replace(_describe(parting, None, blame, cause), value=None, by_change=True)


def _of_parts(parting: Parting, reordering: Reordered) -> Departure:
    """Parts that are read in another order: no operation is another one, and the line is that which cuts them out."""
    cause, label = (GATES if reordering.gates else PARTS), parting.right.program.label
    where = OperationPlace(
        label, reordering.part.opcode, reordering.part.name, str(reordering.part.shape), reordering.part.source
    )
    difference = reordering.difference(parting.left.program.label)
    return Departure(
        CHANGED,
        reordering.part.opcode,
        None,
        where,
        difference,
        cause.name,
        cause.remedy,
        value=None,
        confirmed=True,
        by_change=True,
        gotchas=cause.gotchas,
    )


def _find_attempts(parting: Parting, arguments: Sequence[Sequence[np.ndarray]]) -> tuple[list[Found], bool]:
    """Attempts, each where those before have been made, in the order of the program; whether all results agree then."""
    switches = board(parting, arguments)
    changes: Given = {}
    partings: list[Found] = []
    while parting.results and len(partings) < _MOST:
        attempt = search(parting, switches, changes)
        partings.append((parting, attempt))
        if attempt is None:
            break
        changes = {**changes, attempt.switch: attempt.arrays}
        if mends(parting, switches, changes):
            return sorted(partings, key=_order), True
        parting = _repair(parting, switches, changes, len(arguments))
    return sorted(partings, key=_order), False


def merge(departures: Iterable[Departure]) -> list[Departure]:
    """The departures, each once: an optimizer departs alike for every weight."""
    by_place: dict[tuple[object, ...], Departure] = {}
    for departure in departures:
        where = (
            departure.kind,
            departure.op,
            departure.difference,
            departure.inside,
            departure.right and departure.right.source,
        )
        earlier = by_place.get(where)
        by_place[where] = dataclasses.replace(earlier, times=earlier.times + 1) if earlier else departure
    return list(by_place.values())


def _order(parting_and_attempt: Found) -> int:
    """The place in the left program, whose order both share."""
    parting, attempt = parting_and_attempt
    _, left, right = assign_blame(parting, attempt)
    read = parting.right.program.node(right).operands if right is not None else ()
    partners = [key for operand in read for key in parting.agreement.right.get(operand, ())[:1]]
    return left if left is not None else max(partners, default=0)


def _repair(parting: Parting, switches: Switchboard, changes: Given, cases: int) -> Parting:
    """Where programs first differ once the right one is given some of the left one's values."""
    runs = [switches.run(changes, case) for case in range(cases)]
    side = parting.right
    arrays = {key: [run.get(key, array) for run, array in zip(runs, values, strict=True)]
              for key, values in side.measured.arrays.items()}  # fmt: skip
    right = MeasuredProgram(
        side.program, MeasuredValues(arrays, side.measured.bounds, side.measured.again), side.smooth
    )
    return part(parting.left, right, agreement(parting.left, right))


def _departures(search_result: Searched, parting: Parting, attempt: Attempt | None) -> list[Departure]:
    """The departure that an attempt shows, or those that it consists of inside of a loop or branch."""
    blame = assign_blame(parting, attempt)
    inside = _inside(search_result.left, search_result.right, blame.left, blame.right)
    departure = _describe(parting, attempt, blame, _cause(search_result, parting, attempt, blame))
    return inside or [dataclasses.replace(departure, confirmed=search_result.confirmed)]


def _inside(mine: RanProgram, theirs: RanProgram, left: int | None, right: int | None) -> list[Departure]:
    if left is None or right is None:
        return []

    def judge(own: Computation, states: Sequence[State], other: Computation,
              others: Sequence[State]) -> tuple[Departure, ...]:  # fmt: skip
        # A state may be at an edge: a counter, or what a loop starts from.
        rough = [False] * len(states)
        first = run_computation(own, states, rough, mine.precision)
        return between(first, run_computation(other, others, rough, theirs.precision)).departures

    return _inside_regions.enter(_enter(mine, left), _enter(theirs, right), judge)


def _enter(ran: RanProgram, key: int) -> _inside_regions.Entered:
    return _inside_regions.Entered(ran.side.program, ran.side.program.node(key), ran.arguments)


def _describe(
    parting: Parting, attempt: Attempt | None, blame: Blamed, cause_and_proof: tuple[Cause, str]
) -> Departure:
    """A departure that is confirmed, in words."""
    kind, left, right = blame
    stands = (
        where_missing(parting, left, right) if kind == MISSING and left is not None and right is not None else right
    )
    mine, theirs = place(parting.left, left), place(parting.right, stands)
    to_blame = mine if kind == MISSING and mine is not None else theirs
    cause, more = cause_and_proof
    return Departure(
        kind=kind,
        op=to_blame.op if to_blame else "",
        left=mine,
        right=theirs,
        difference=_naming.difference(parting, kind, left, right),
        cause=cause.name,
        remedy="; ".join(filter(None, (more, cause.remedy))),
        gotchas=cause.gotchas,
        value=_sample(parting, attempt, left, right),
        confirmed=True,
    )


def _cause(search_result: Searched, parting: Parting, attempt: Attempt | None, blame: Blamed) -> tuple[Cause, str]:
    """The cause that is proved, and what its proof says."""
    if attempt is not None and not search_result.confirmed:
        return UNKNOWN, ""

    def at_edges() -> bool:
        return only_at_edges(search_result.left, search_result.right)

    return cause_of(spots(parting, attempt, blame, clue(parting, attempt, blame), at_edges), search_result.alone)


def _sample(parting: Parting, attempt: Attempt | None, left: int | None, right: int | None) -> Sample | None:
    mine, theirs = parting.left.measured.arrays, parting.right.measured.arrays
    result = None
    if attempt is None or attempt.left == left:
        result = sample(mine.get(left if left is not None else -1), theirs.get(right if right is not None else -1))
    if result is None and attempt is not None:
        result = sample(attempt.arrays, theirs.get(attempt.switch.key))
    return result


def sample(left: Sequence[np.ndarray] | None, right: Sequence[np.ndarray] | None) -> Sample | None:
    """Where two values differ first, in the first case that tells them apart."""
    for mine, theirs in zip(left or (), right or (), strict=False):
        if mine.size != theirs.size or not mine.size:
            return None
        a, b = exact(mine).ravel(), exact(theirs).ravel()
        apart = distance(mine.ravel(), theirs.ravel())
        differs = ~np.isclose(a, b, rtol=1e-7, atol=1e-9 * size(mine), equal_nan=True)
        if apart and differs.any():
            flat_index = int(np.argmax(differs))
            index = tuple(int(place) for place in np.unravel_index(flat_index, theirs.shape))
            return Sample(index, float(a[flat_index].real), float(b[flat_index].real), apart / (size(mine) or 1.0))
    return None
