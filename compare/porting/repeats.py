"""Repeats in a sequence of steps: segments with the same code and the same wiring, each with one result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

LONGEST = 96
"""The largest number of steps of a segment."""

CLASS = 7
"""Lines of a class beside the lines of its steps."""

_MOST_CANDIDATES, _MOST = 32, 5
"""How many repeats jaxport compares by their names, and for how many of them it looks for variants."""

_BONUS = 1.5
"""The factor for a repeat that the names of layers mark."""


@dataclass(frozen=True)
class Step:
    """One step of a sequence.

    Attributes:
      shape: the shape of its code, equal for steps that differ only in numbers; "" if no segment may contain the step.
      reads: the numbers of the tensors that it reads, in order.
      writes: the numbers of the tensors that it returns.
      values: the numbers in its code, in order.
      lines: how many lines its code takes.
      name: its name in the model.
      sizes_of: the numbers of the tensors of which it reads sizes or types alone, in order.
    """

    shape: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    values: tuple[str, ...] = ()
    lines: int = 1
    name: str = ""
    sizes_of: tuple[int, ...] = ()


@dataclass(frozen=True)
class Copy:
    """One copy of a repeat.

    Attributes:
      start: the index of its first step.
      length: the number of its steps.
      inputs: the tensors that it reads and earlier steps return, in the order of the first reads.
      result: the tensor that later steps read.
    """

    start: int
    length: int
    inputs: tuple[int, ...]
    result: int

    @property
    def stop(self) -> int:
        """The index after its last step."""
        return self.start + self.length


@dataclass(frozen=True)
class Repeat:
    """A segment that occurs several times.

    Attributes:
      copies: in order, without overlap.
    """

    copies: tuple[Copy, ...]


def runs_of(copies: Sequence[Copy], last_reads: Mapping[int, int]) -> list[list[Copy]]:
    """Copies in lists: within a list, only the next copy reads the result of a copy, and all other inputs are equal.

    Args:
      last_reads: for each tensor, the index of the last step that reads it.
    """
    runs = [[copies[0]]]
    for copy in copies[1:]:
        before = runs[-1][-1]
        is_read_elsewhere = last_reads[before.result] >= copy.stop
        if is_read_elsewhere or chained_input([*runs[-1], copy]) is None:
            runs.append([copy])
        else:
            runs[-1].append(copy)
    return runs


def chained_input(copies: Sequence[Copy]) -> int | None:
    """The position of the input that is the previous copy's result; None without one, or if other inputs differ."""
    pairs = list(pairwise(copies))
    if not pairs or any(before.stop != after.start for before, after in pairs):
        return None
    before, after = pairs[0]
    place = next((index for index, number in enumerate(after.inputs) if number == before.result), None)
    if place is None or any(_others(before, place) != _others(after, place) for before, after in pairs):
        return None
    return place if all(after.inputs[place] == before.result for before, after in pairs) else None


def _others(copy: Copy, place: int) -> tuple[int, ...]:
    return (*copy.inputs[:place], *copy.inputs[place + 1 :])


def find_repeats(
    steps: Sequence[Step], outputs: Sequence[int], longest: int = LONGEST, overhead: int = CLASS
) -> list[Repeat]:
    """The repeats that may save the most lines, the best one first.

    Args:
      longest: the largest number of steps of a segment.
      overhead: lines that are written once for a repeat, beside those of its steps.
    """
    until, last_reads = [0, *accumulate(step.lines for step in steps)], last_reads_of(steps, outputs)
    candidates: list[tuple[int, tuple[Copy, ...]]] = []
    for copies in _equal_segments(steps, last_reads, longest):
        apart = _without_overlap(copies)
        lines = [until[copy.stop] - until[copy.start] for copy in apart]
        if len(apart) > 1:
            candidates.append((sum(lines) - max(lines) - overhead, tuple(apart)))
    scores: list[tuple[float, tuple[Copy, ...]]] = []
    for most, copies in sorted(candidates, key=lambda candidate: (-candidate[0], candidate[1][0].start)):
        if most <= 0 or len(scores) == _MOST_CANDIDATES:
            break
        # A part of a segment with the same number of copies saves less.
        if not any(_are_inside(copies, others) for _, others in scores):
            scores.append((most * bonus(steps, copies), copies))
    return [Repeat(copies) for _, copies in sorted(scores, key=lambda pair: -pair[0])[:_MOST]]


def bonus(steps: Sequence[Step], copies: Sequence[Copy]) -> float:
    """The factor for a repeat: above 1 if the names in each copy have a prefix that no other name has."""
    names = [step.name for step in steps]
    return _BONUS if all(own_prefix(names, range(copy.start, copy.stop)) for copy in copies) else 1.0


def _are_inside(copies: Sequence[Copy], others: Sequence[Copy]) -> bool:
    """Whether there are as many copies as others, and each is a part of the other at its place."""
    return len(copies) == len(others) and all(
        other.start <= copy.start and copy.stop <= other.stop for copy, other in zip(copies, others, strict=True)
    )


def _equal_segments(steps: Sequence[Step], last_reads: Mapping[int, int], longest: int) -> list[list[Copy]]:
    """The segments with one result that occur more than once, in groups of equal ones."""
    # A segment is a path in a tree of steps: two segments are equal if they end at the same node. A path that only one
    # segment takes is not followed.
    segments: dict[tuple[object, ...], list[Copy]] = {}
    paths = [[segments_from(steps, last_reads, start, longest) for start in range(len(steps))]]
    for depth in range(longest):
        longer: dict[tuple[object, ...], list[Iterator[tuple[Copy | None, object, object]]]] = {}
        for number, path in enumerate(paths):
            for segment in path:
                copy, wiring, result = next(segment, (None, None, None))
                if wiring is None:
                    continue
                longer.setdefault((number, wiring), []).append(segment)
                if copy is not None:
                    segments.setdefault((depth, number, wiring, result), []).append(copy)
        paths = [path for path in longer.values() if len(path) > 1]
    return [copies for copies in segments.values() if len(copies) > 1]


def last_reads_of(steps: Sequence[Step], outputs: Sequence[int]) -> dict[int, int]:
    """For each tensor, the index of the last step that reads it; the number of steps if the sequence returns it."""
    last_reads = {number: index for index, step in enumerate(steps) for number in (*step.reads, *step.sizes_of)}
    return last_reads | dict.fromkeys(outputs, len(steps))


def segments_from(
    steps: Sequence[Step], last_reads: Mapping[int, int], start: int, longest: int
) -> Iterator[tuple[Copy | None, object, object]]:
    """The segments that begin at a step, in order of length; None for a single step and for several results.

    With each segment come its last step and its result, in terms that do not depend on the numbers of its tensors.

    Args:
      last_reads: for each tensor, the index of the last step that reads it.
      start: the index of the first step.
      longest: the largest number of steps.
    """
    inputs, local, live = dict[int, int](), dict[int, tuple[int, int]](), list[int]()
    for offset, step in enumerate(steps[start : start + longest]):
        if not step.shape:
            return
        for number in step.reads:
            if number not in local:
                inputs.setdefault(number, len(inputs))
        reads = tuple(local.get(number, inputs.get(number)) for number in step.reads)
        sizes_of = tuple(local.get(number) for number in step.sizes_of)
        local |= {number: (offset, index) for index, number in enumerate(step.writes)}
        live = [number for number in (*live, *step.writes) if last_reads.get(number, -1) > start + offset]
        is_segment = len(live) == 1 and offset > 0
        copy = Copy(start, offset + 1, tuple(inputs), live[0]) if is_segment else None
        yield copy, (step.shape, reads, sizes_of, len(step.writes)), local[live[0]] if is_segment else None


def _without_overlap(copies: Sequence[Copy]) -> list[Copy]:
    """The copies without those that overlap an earlier one."""
    apart: list[Copy] = []
    for copy in copies:
        if not apart or apart[-1].stop <= copy.start:
            apart.append(copy)
    return apart


def own_prefix(names: Sequence[str], place: range) -> str:
    """The common prefix of the names in a segment; "" if they have none or another name has it too.

    Args:
      names: the names of all steps in order; "" for a step without a name.
    """
    prefix = common_prefix([names[index] for index in place if names[index]])
    others = (name for index, name in enumerate(names) if index not in place)
    return "" if any(name.startswith(prefix) for name in others) else prefix


def common_prefix(names: Sequence[str]) -> str:
    """The common start of names, up to the last separator between words."""
    return re.sub(r"[^_./-]*$", "", common_start(names)) if len(names) > 1 else ""


def common_start(names: Sequence[str]) -> str:
    """The characters that all names begin with."""
    same = takewhile(lambda characters: len({*characters}) == 1, zip(*names, strict=False))
    return "".join(characters[0] for characters in same)
