"""Aligns two programs at one level: by slot and value number, by value, inside regions, and by neighbourhood."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from compare.hlo import executing
from compare.hlo.align._alignment import Alignment, Match, ResultMatch
from compare.hlo.align._problem import Problem
from compare.hlo.align.by_number import Numbering
from compare.hlo.align.by_value import ByValue
from compare.hlo.align.equal_values import Arguments, EqualValues, Runs, equal_values
from compare.hlo.align.frontier import frontier
from compare.hlo.align.neighbours import alike
from compare.hlo.align.paired_regions import Regions
from compare.hlo.align.slots import matched_parameters, parameter_names, result_pairs
from compare.hlo.arrays.fingerprints import TOLERANCE
from compare.hlo.arrays.room import budget
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import RAW, STRUCTURE, Subject, at_level
from compare.hlo.pair import Pair


def align(
    left: Subject,
    right: Subject,
    level: str = STRUCTURE,
    cases: Sequence[Arguments] = (),
) -> Alignment:
    """Align two programs.

    Args:
      level: the canonical form that both are brought to first, one of `levels.LEVELS`.
      cases: arguments to run both with, the same arrays on either side; two cases, so that what is
        equal once by chance is distinguished from what is the same. Without any, nothing is matched by value. Float32
        values within `fingerprints.TOLERANCE` are the same, relative to each value's scale; other types scale
        with their precision.

    Raises:
      UnreadableProgram: a program cannot be read, or brought to that level.
    """
    subjects = Pair(left, right)
    alignment = _align(_problem(subjects, level, cases))
    return dataclasses.replace(alignment, assumes=_find_assumptions(subjects, alignment))


def _find_assumptions(subjects: Pair[Subject], alignment: Alignment) -> tuple[str, ...]:
    """The conditions on inputs under which the programs are equal; empty if they are equal for all inputs."""
    forms = alignment.left, alignment.right
    assumptions = {change.assumes for form in forms for change in form.changes if change.assumes}
    if not assumptions or not alignment.is_equal:
        return ()
    strict = _align(_problem(subjects, alignment.level, (), assuming=False))
    return () if strict.is_equal else tuple(sorted(assumptions))


def _problem(subjects: Pair[Subject], level: str, cases: Sequence[Arguments], assuming: bool = True) -> Problem:
    forms = subjects.map(lambda subject: at_level(subject, level, assuming))
    graphs = forms.map(lambda form: form.graph)
    return Problem(
        level=level,
        labels=subjects.map(lambda subject: subject.label),
        forms=forms,
        slots=matched_parameters(subjects, graphs),
        results=result_pairs(subjects, graphs),
        names=Pair(parameter_names(subjects.left, graphs.left), parameter_names(subjects.right, graphs.right)),
        runs=Runs(graphs, lambda: cases, TOLERANCE, budget(_bytes_of_arguments(cases))) if cases else None,
    )


def _bytes_of_arguments(cases: Sequence[Arguments]) -> int:
    """The bytes of the larger program's arguments, which exist as they were sent and as XLA takes them.

    An array that cases share is sent once.
    """
    sides = (
        {id(array): array.nbytes for arguments in side for array in arguments} for side in zip(*cases, strict=True)
    )
    return 2 * max(sum(sizes.values()) for sizes in sides)


def _align(problem: Problem) -> Alignment:
    """Every matcher in order, until none finds more; then what is only alike, and where the two first differ."""
    graphs = problem.graphs
    numbering = Numbering(problem.forms, as_written=problem.level == RAW)
    regions = Regions(problem, numbering, _align)
    matches = [*problem.slots, *numbering.matches(problem.slots)]
    values = _values(problem, matches)
    by_value = ByValue(graphs, numbering, values)
    before = -1
    while before < len(matches):
        before = len(matches)
        for matcher in (by_value, numbering, regions):
            matches += matcher.matches(matches)
    similar = alike(graphs, matches)
    bodies = regions.alignments([*matches, *similar], matches)
    return Alignment(
        problem.level,
        problem.forms.left,
        problem.forms.right,
        matches=tuple(matches),
        frontier=tuple(frontier(problem, matches, similar, bodies, values.untried)),
        alike=tuple(similar),
        regions=tuple(bodies),
        results=_results(problem, numbering, matches),
        notes=values.notes,
    )


def _values(problem: Problem, matches: Sequence[Match]) -> EqualValues:
    if problem.runs is None:
        return EqualValues({})
    try:
        return equal_values(problem.graphs, matches, problem.runs)
    except UnreadableProgram as error:
        return EqualValues({}, notes=(f"nothing was compared by running it: {error}",))
    finally:
        # The next problem is given the memory that this one's values took, and so is what comes after the last one.
        executing.let_go()


def _results(problem: Problem, numbering: Numbering, matches: Sequence[Match]) -> tuple[ResultMatch, ...]:
    numbers = numbering.numbers(matches)
    direct = {(match.left, match.right): match for match in matches}
    by_left = {match.left: match for match in matches}
    results: list[ResultMatch] = []
    for name, left, right in ((result.name, result.left, result.right) for result in problem.results):
        if left is None or right is None or numbers.left[left] != numbers.right[right]:
            results.append(ResultMatch(name, left, right, False))
        else:
            match = direct.get((left, right), by_left[left])
            results.append(ResultMatch(name, left, right, True, match.matcher, match.ulp))
    return tuple(results)
