"""Aligns a pair of programs at every level, and their modules: data for the page, the console and scripts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from compare.files import Json
from compare.hlo import differences, donation, partitions, passes
from compare.hlo.align import Alignment, FrontierEntry, align
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import ALGEBRA, LEVELS, UNFUSED, Subject, read
from compare.hlo.pair import Pair as Both
from compare.hlo.places import differences_view, place_view
from compare.hlo.rewriting import Rewritten
from compare.hlo.showing import module_view, view
from compare.plain_json import to_json
from compare.progress import Reporter
from compare.prove.program_pairs import Pair
from compare.record import alignment_part
from compare.record.alignment_part import Compilers, Departure, Donated, Explanation, Level, Reason
from compare.record.program_parts import Compiled
from compare.regions.feeding import find_more_matches
from compare.regions.region_counts import LEVELS as REGION_LEVELS
from compare.regions.region_counts import count_regions

OPTIMIZED = "optimized"
"""Beside the levels: each frontend's program as its own compiler left it."""
SHOWN = (*LEVELS, OPTIMIZED)
_OWN = ("tf@tf", "jax@jax")


class Scope(Enum):
    """The levels that are aligned, and those at which both programs run, to match by value.

    A level that is run is another program to compile.
    """

    EVERY_LEVEL = "every level, run at each"
    SHOWN_BY_VALUE = "every level but `unfused`, run at the one that is shown"
    SHOWN_ALONE = "the level that is shown, run there, and nothing of the compilers"


class RegionSearch(Enum):
    """Whether programs are split into regions, and which values they are split at."""

    NONE = "not at all"
    MATCHED = "at the values that the alignment has matched"
    FED = "at these, and at what is equal once the rest runs from TensorFlow's values"


@dataclass(frozen=True)
class Examined:
    """A pair at its levels, with the modules of its compilers.

    Attributes:
      view: what pages of the pair show, as JSON.
      alignment: the same in a record: the level that is shown in full, the others in numbers.
      compilers: why the 2 x 2 is what it is; None where there is none.
    """

    view: Json
    alignment: alignment_part.Alignment
    compilers: Compilers | None


def examine(
    pair: Pair,
    main_level: str,
    reporter: Reporter,
    scope: Scope = Scope.EVERY_LEVEL,
    by_pass: bool = False,
    by_region: RegionSearch = RegionSearch.NONE,
) -> Examined:
    """Align a pair at its levels, and explain the modules of its compilers.

    Args:
      main_level: the level that `view` holds, value by value.
      by_pass: whether to compile both programs here and hold them against each other after every pass.
      by_region: whether to split both programs into regions.

    Raises:
      UnreadableProgram: the programs cannot be aligned at the level to be shown.
    """
    levels = _levels(pair, main_level, scope, reporter)
    alignments = {level: alignment for level, alignment in levels.items() if isinstance(alignment, Alignment)}
    programs = {level: alignment for level, alignment in alignments.items() if level != OPTIMIZED}
    labels = _OWN if main_level == OPTIMIZED else (pair.left.label, pair.right.label)
    alone, thorough = scope is Scope.SHOWN_ALONE, scope is Scope.EVERY_LEVEL
    compilers = None
    if not alone:
        reporter.step("compilers")
        # Aligned as both sides' own modules are below, unless values were used at this level alone.
        own = alignments.get(OPTIMIZED) if thorough or main_level != OPTIMIZED else None
        compilers = _compilers(pair if thorough else _without_cases(pair), alignments.get(ALGEBRA), own)
    donations = {side: _donation(side, pair) for side in pair.donations}
    page = {
        "name": pair.name,
        "labels": list(labels),
        "level": main_level,
        "levels": {level: summary(alignment) for level, alignment in levels.items()},
        "view": view(alignments[main_level], programs, labels, _times(pair)),
        "pictures": _pictures(pair, alignments.get(OPTIMIZED)),
        "compilers": to_json(compilers),
        "passes": _passes(pair) if by_pass else None,
        "regions": _regions(pair, programs, by_region),
        "compiled": {cell: _kernels(pair.described[cell]) for cell in _OWN if cell in pair.cells and not alone},
        "donation": {side: to_json(donation) for side, donation in donations.items()},
    }
    return Examined(page, _record(main_level, alignments[main_level], levels, donations), compilers)


def _levels(pair: Pair, main_level: str, scope: Scope, reporter: Reporter) -> dict[str, Alignment | str]:
    """By level, the alignment or why there is none."""
    there = list(SHOWN if pair.described else LEVELS)
    if scope is Scope.SHOWN_BY_VALUE:
        there.remove(UNFUSED)
    if main_level not in there:
        raise UnreadableProgram(f"expected a level of {', '.join(there)}, found {main_level}: choose one of these")
    if scope is Scope.SHOWN_ALONE:
        there = [main_level]
    reporter.stage(f"{pair.name}: alignment", len(there) + (scope is not Scope.SHOWN_ALONE))
    levels: dict[str, Alignment | str] = {}
    for level in there:
        reporter.step(level)
        try:
            by_number = scope is Scope.SHOWN_BY_VALUE and level != main_level
            levels[level] = _align(_without_cases(pair) if by_number else pair, level)
        except UnreadableProgram as error:
            if level == main_level:
                raise
            levels[level] = str(error)
    return levels


def _without_cases(pair: Pair) -> Pair:
    """The pair without arguments: its programs are not run."""
    return dataclasses.replace(pair, cases=())


def _record(
    main_level: str, alignment: Alignment, levels: Mapping[str, Alignment | str], donations: Mapping[str, Donated]
) -> alignment_part.Alignment:
    return alignment_part.Alignment(
        level=main_level,
        matched=alignment.match_count,
        tf_only=len(alignment.left_only),
        jax_only=len(alignment.right_only),
        matchers=alignment.matchers,
        frontier=tuple(map(_departure, alignment.frontier)),
        levels={level: _level(alignment) for level, alignment in levels.items()},
        donation=donations,
    )


def _level(alignment: Alignment | str) -> Level:
    if isinstance(alignment, str):
        return Level(reason=alignment)
    return Level(
        matched=alignment.match_count,
        left=len(alignment.left.graph),
        right=len(alignment.right.graph),
        equal=alignment.is_equal,
        assumes=tuple(alignment.assumes),
        results=len(alignment.results),
        results_equal=sum(result.equal for result in alignment.results),
    )


def _departure(entry: FrontierEntry) -> Departure:
    why = entry.explanation
    return Departure(
        side=entry.side,
        op=entry.op,
        name=entry.name,
        source=entry.source,
        reason=entry.reason,
        explanation=Explanation(why.kind.value, why.name, why.meaning) if why else None,
        node=entry.node,
        explained=entry.explanation_name,
    )


def summary(alignment: Alignment | str) -> Json:
    """One level in numbers: values of either program, their matches by matcher, and the rest."""
    if isinstance(alignment, str):
        return {"reason": alignment}
    return {
        "matched": alignment.match_count,
        "left": len(alignment.left.graph),
        "right": len(alignment.right.graph),
        "left_only": len(alignment.left_only),
        "right_only": len(alignment.right_only),
        "equal": alignment.is_equal,
        "assumes": list(alignment.assumes),
        "results": len(alignment.results),
        "results_equal": sum(result.equal for result in alignment.results),
        "unequal": [result.name for result in alignment.results if not result.equal],
        "matchers": alignment.matchers,
        **differences_view(alignment),
        "frontier": [place_view(entry) for entry in alignment.frontier],
        "notes": list(alignment.notes),
    }


def _align(pair: Pair, level: str) -> Alignment:
    if level != OPTIMIZED:
        return align(pair.left, pair.right, level, pair.cases)
    left, right = (_module(pair, cell) for cell in _OWN)
    return align(left, right, ALGEBRA, pair.cases)


def _module(pair: Pair, cell: str) -> Subject:
    if cell not in pair.cells:
        raise UnreadableProgram(f"expected a module {cell}, found none: {pair.described[cell].reason}")
    return pair.cells[cell].subject


def _times(pair: Pair) -> dict[str, dict[str, float]]:
    """Seconds of each kernel of the optimized modules, by cell."""
    return {
        cell: {
            kernel.name: kernel.seconds
            for kernel in pair.described[cell].times
            if kernel.name and kernel.seconds is not None
        }
        for cell in pair.cells
    }


def _pictures(pair: Pair, alignment: Alignment | None) -> Json:
    """The data of a picture of each side's own module, in which values without a partner are marked."""
    if alignment is None:
        return {}
    sides = (_OWN[0], alignment.left, alignment.left_only), (_OWN[1], alignment.right, alignment.right_only)
    return {cell: _picture(_module(pair, cell), form, set(alone)) for cell, form, alone in sides}


def _picture(subject: Subject, form: Rewritten, alone: set[int]) -> Json:
    # A value that rules removed has no partner and needs none.
    graph = read(subject)
    return module_view(graph, [key for key in graph.nodes if form.stands_for.get(key) not in alone])


def _compilers(pair: Pair, programs: Alignment | None, own: Alignment | None) -> Compilers | None:
    """Why the 2 x 2 is what it is: what two frontends wrote, what two compilers made of it, cut into which kernels.

    Args:
      own: what each side's compiler made of its own program, aligned likewise; None to align it here.
    """
    if not pair.cells:
        return None
    same = {"tf": [(left, left) for left, _ in pair.cases], "jax": [(right, right) for _, right in pair.cases]}
    try:
        explanation = differences.explain_attribution(programs, pair.cells, pair.sides, same)
        left, right = (_module(pair, cell) for cell in _OWN)
        whole = partitions.of_aligned(left, right, own) if own else partitions.compare(left, right, pair.cases)
    except UnreadableProgram as error:
        return Compilers(reason=str(error))
    return Compilers(_reasons(explanation.frontend), _reasons(explanation.compiler), tuple(whole.lines))


def _reasons(reasons: Iterable[differences.Reason]) -> tuple[Reason, ...]:
    return tuple(Reason(reason.kind, reason.text, reason.sources) for reason in reasons)


def _regions(pair: Pair, programs: Mapping[str, Alignment], search: RegionSearch) -> Json | None:
    """The regions of both programs as JSON; of the structural level where it was aligned, None of no such level."""
    level = next((level for level in REGION_LEVELS if level in programs), None)
    if level is None or search is RegionSearch.NONE:
        return None
    alignment = programs[level]
    try:
        alignment = find_more_matches(alignment, pair.cases) if search is RegionSearch.FED and pair.cases else alignment
    except UnreadableProgram as error:
        return {"reason": str(error)}
    counts = count_regions(alignment, Both(pair.left.parameters, pair.right.parameters))
    return to_json(counts) | {"headline": counts.headline}


def _passes(pair: Pair) -> Json:
    try:
        comparison = passes.compare(pair.left, pair.right)
    except UnreadableProgram as error:
        return {"reason": str(error)}
    return {"lines": comparison.lines, "steps": [dataclasses.asdict(step) for step in comparison.steps]}


def _kernels(cell: Compiled) -> Json:
    """The times of a cell: kernels with their lines, lines with their kernels, and runs of small kernels."""
    return {"times": cell.times, "lines": cell.lines, "small_runs": cell.small_runs}


def _donation(side: str, pair: Pair) -> Donated:
    """Whether XLA reuses the memory of the arguments that a training step may overwrite."""
    step = pair.donations[side]
    names = tuple(f"{parameter.kind} {parameter.name}" for parameter in step.parameters)
    subject = Subject(side, step.optimized, names, tuple(result.name for result in step.results))
    verification = donation.verify(subject, step.donated)
    return Donated(
        holds=verification.holds,
        donated=verification.donated,
        bytes_in_place=verification.bytes_in_place,
        bytes_missed=verification.bytes_missed,
        missed=tuple(str(alias) for alias in verification.missed),
    )
