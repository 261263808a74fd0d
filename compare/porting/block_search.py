"""The search for the block that saves the most lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from compare.porting.patterns import Pattern, count_lines, indices_by_column, pattern_of
from compare.porting.repeats import (
    CLASS,
    Copy,
    Step,
    bonus,
    find_repeats,
    last_reads_of,
    own_prefix,
    runs_of,
    segments_from,
)
from compare.porting.variants import LEAST_SHARE, extend

_LEAST_OF_VARIANT, _LEAST_OF_BLOCK = 4, 10
"""The fewest lines that a variant has to save beside its class, and that a block has to save."""

_SHARE = 0.75
"""The largest share of a block's lines that may remain when its class is written."""

_LIST, _ONE = 3, 2
"""Lines of a list of copies with its loop, and of a single copy."""

_PARAMETER = 2
"""Lines that an argument counts for if not all copies need it."""


def find_block(steps: Sequence[Step], outputs: Sequence[int]) -> Pattern | None:
    """The block that saves the most lines; None if no block saves enough."""
    last_reads, best, most = last_reads_of(steps, outputs), None, 0.0
    for repeat in find_repeats(steps, outputs):
        pattern = add_variants(steps, outputs, pattern_of(steps, repeat))
        savings = _savings(steps, pattern, last_reads)
        if savings > most:
            best, most = pattern, savings
    return best


def _savings(steps: Sequence[Step], pattern: Pattern, last_reads: Mapping[int, int]) -> float:
    """The lines that the class of a block saves, with a bonus if the layer names mark the block; 0 if too few."""
    copies = [occurrence.copy for occurrence in pattern.copies]
    before = sum(step.lines for copy in copies for step in steps[copy.start : copy.stop])
    parameters = _count_parameters(steps, pattern) + len(pattern.pieces)
    of_runs = sum(_LIST if len(run) > 1 else _ONE for run in runs_of(copies, last_reads))
    after = CLASS + count_lines(steps, pattern) + parameters + of_runs + (len(copies) if parameters else 0)
    if before - after < _LEAST_OF_BLOCK or after > _SHARE * before:
        return 0.0
    return (before - after) * bonus(steps, copies)


def add_variants(steps: Sequence[Step], outputs: Sequence[int], pattern: Pattern) -> Pattern:
    """A block that also has its variants as copies."""
    last_reads = last_reads_of(steps, outputs)
    while (wider := _widen(steps, last_reads, pattern)) is not None:
        pattern = wider
    return pattern


def _widen(steps: Sequence[Step], last_reads: Mapping[int, int], pattern: Pattern) -> Pattern | None:
    """The block with the variant that saves the most lines; None if no variant saves enough."""
    best, most = None, 0
    names = [step.name for step in steps]
    are_marked = bonus(steps, [occurrence.copy for occurrence in pattern.copies]) > 1
    for copy in _candidates(steps, last_reads, pattern):
        wider = extend(steps, pattern, copy)
        if wider is None:
            continue
        lines = sum(step.lines for step in steps[copy.start : copy.stop])
        savings = lines - (count_lines(steps, wider) - count_lines(steps, pattern)) - 1
        savings -= _PARAMETER * (_count_parameters(steps, wider) - _count_parameters(steps, pattern))
        if are_marked and not own_prefix(names, range(copy.start, copy.stop)):
            continue
        if savings >= _LEAST_OF_VARIANT and savings > most:
            best, most = wider, savings
    return best


def _count_parameters(steps: Sequence[Step], pattern: Pattern) -> int:
    """How many numbers differ between the copies of a block; numbers that differ in the same way count once."""
    vectors: set[tuple[str | None, ...]] = set()
    for indices in indices_by_column(pattern):
        first = next(index for index in indices if index is not None)
        for place in range(len(steps[first].values)):
            vectors.add(tuple(None if index is None else steps[index].values[place] for index in indices))
    return sum(len({*vector} - {None}) > 1 for vector in vectors)


def _candidates(steps: Sequence[Step], last_reads: Mapping[int, int], pattern: Pattern) -> Iterator[Copy]:
    """The segments outside the copies that share most of their steps with the block."""
    shapes = Counter(column.shape for column in pattern.columns)
    length = sum(column.piece is None for column in pattern.columns)
    copies = [occurrence.copy for occurrence in pattern.copies]
    inside = {index for copy in copies for index in range(copy.start, copy.stop)}
    free = [index for index in range(len(steps)) if index not in inside]
    for _, group in groupby(enumerate(free), lambda pair: pair[1] - pair[0]):
        gap = [index for _, index in group]
        for start in gap:
            longest = min(gap[-1] + 1 - start, 2 * len(pattern.columns))
            for copy, _, _ in segments_from(steps, last_reads, start, longest):
                if copy is None or len(copy.inputs) != len(pattern.inputs):
                    continue
                overlap = (Counter(step.shape for step in steps[copy.start : copy.stop]) & shapes).total()
                if overlap >= LEAST_SHARE * max(copy.length, length):
                    yield copy
