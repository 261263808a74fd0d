"""Aligns two programs at one level: by slot and value number, by value, inside regions, and by neighbourhood."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from compare.hlo.align._alignment import Alignment, Match, ResultMatch
from compare.hlo.align._problem import Problem
from compare.hlo.align.by_number import Numbering
from compare.hlo.align.by_value import ByValue
from compare.hlo.align.equal_values import Arguments, EqualValues, Runs, equal_values
from compare.hlo.align.fingerprints import TOLERANCE
from compare.hlo.align.frontier import frontier
from compare.hlo.align.intermediates import BUDGET
from compare.hlo.align.neighbours import alike
from compare.hlo.align.paired_regions import Regions
from compare.hlo.align.slots import matched_parameters, parameter_names, result_pairs
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import RAW, STRUCTURE, Subject, at_level


def align(
    left: Subject,
    right: Subject,
    level: str = STRUCTURE,
    cases: Sequence[Arguments] = (),
    tolerance: float = TOLERANCE,
) -> Alignment:
    """Align two programs.

    Args:
      cases: arguments to run both with, the same arrays on either side; two cases, so that what is
        equal once by chance is told from what is the same. Without any, nothing is matched by value.
      tolerance: within which float32 values are the same, relative to each value's scale; other types scale
        with their precision.

    Raises:
      UnreadableProgram: a program cannot be read, or brought to that level.
    """
    found = _aligned(_problem(left, right, level, cases, tolerance))
    return dataclasses.replace(found, assumes=_assumed(left, right, found))


def _assumed(left: Subject, right: Subject, found: Alignment) -> tuple[str, ...]:
    """What must hold of the inputs for programs that came out equal; nothing where they are without assuming it."""
    fired = {change.assumes for form in (found.left, found.right) for change in form.changes if change.assumes}
    if not fired or not found.is_equal:
        return ()
    strict = _aligned(_problem(left, right, found.level, (), TOLERANCE, assuming=False))
    return () if strict.is_equal else tuple(sorted(fired))


def _problem(
    left: Subject, right: Subject, level: str, cases: Sequence[Arguments], tolerance: float, assuming: bool = True
) -> Problem:
    forms = at_level(left, level, assuming), at_level(right, level, assuming)
    graphs = forms[0].graph, forms[1].graph
    return Problem(
        level=level,
        labels=(left.label, right.label),
        forms=forms,
        slots=matched_parameters(left, right, graphs),
        results=result_pairs(left, right, graphs),
        names=(parameter_names(left, graphs[0]), parameter_names(right, graphs[1])),
        runs=Runs(graphs, lambda: cases, tolerance, BUDGET) if cases else None,
    )


def _aligned(problem: Problem) -> Alignment:
    """Every matcher in order, until none finds more; then what is only alike, and where the two part."""
    graphs = problem.forms[0].graph, problem.forms[1].graph
    numbering = Numbering(*problem.forms, as_written=problem.level == RAW)
    regions = Regions(problem, numbering, _aligned)
    known = [*problem.slots, *numbering.matches(problem.slots)]
    values = _values(problem, known)
    chosen = ByValue(graphs, numbering, values)
    before = -1
    while before < len(known):
        before = len(known)
        for matcher in (chosen, numbering, regions):
            known += matcher.matches(known)
    similar = alike(graphs, known)
    bodies = regions.alignments([*known, *similar], known)
    return Alignment(
        problem.level,
        *problem.forms,
        matches=tuple(known),
        frontier=tuple(frontier(problem, known, similar, bodies)),
        alike=tuple(similar),
        regions=tuple(bodies),
        results=_results(problem, numbering, known),
        notes=values.notes,
    )


def _values(problem: Problem, known: Sequence[Match]) -> EqualValues:
    if problem.runs is None:
        return EqualValues({}, ({}, {}))
    try:
        return equal_values((problem.forms[0].graph, problem.forms[1].graph), known, problem.runs)
    except UnreadableProgram as error:
        return EqualValues({}, ({}, {}), notes=(f"nothing was compared by running it: {error}",))


def _results(problem: Problem, numbering: Numbering, known: Sequence[Match]) -> tuple[ResultMatch, ...]:
    numbers = numbering.numbers(known)
    direct = {(match.left, match.right): match for match in known}
    by_left = {match.left: match for match in known}
    found: list[ResultMatch] = []
    for name, left, right in ((each.name, each.left, each.right) for each in problem.results):
        if left is None or right is None or numbers[0][left] != numbers[1][right]:
            found.append(ResultMatch(name, left, right, False))
        else:
            match = direct.get((left, right), by_left[left])
            found.append(ResultMatch(name, left, right, True, match.matcher, match.ulp))
    return tuple(found)
