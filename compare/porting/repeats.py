"""What repeats in a sequence of steps: segments of the same code and the same wiring, each with one result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

_LONGEST = 96
"""Steps of a segment: what is longer is read as several."""

CLASS = 7
"""Lines around a class."""

_MOST_WEIGHED, _MOST = 32, 5
"""Repeats that are weighed by their names, and that are looked at with their variants."""

_BONUS = 1.5
"""What a repeat counts for that the names of the model mark."""


@dataclass(frozen=True)
class Step:
    """One step of a sequence.

    Attributes:
      shape: of its code, equal for steps that differ in numbers alone; "" of one that no segment may hold.
      reads: the numbers of the tensors that it is given, in order.
      writes: the numbers of those that it returns.
      values: the numbers in its code, in order.
      lines: that its code takes.
      name: that the model has for it.
    """

    shape: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    values: tuple[str, ...] = ()
    lines: int = 1
    name: str = ""


@dataclass(frozen=True)
class Copy:
    """One copy of what repeats.

    Attributes:
      start: its first step.
      length: in steps.
      inputs: the tensors that it reads from before, in the order in which it first does.
      result: the tensor that later steps read.
    """

    start: int
    length: int
    inputs: tuple[int, ...]
    result: int

    @property
    def stop(self) -> int:
        """The step behind its last one."""
        return self.start + self.length


@dataclass(frozen=True)
class Repeat:
    """A segment that stands several times.

    Attributes:
      copies: in order, none over another.
    """

    copies: tuple[Copy, ...]


def runs_of(copies: Sequence[Copy], last_reads: Mapping[int, int]) -> list[list[Copy]]:
    """Copies in lists: each takes the result of the one before, which nothing else reads, and else what that one takes.

    Args:
      copies: in order.
      last_reads: of each tensor, the last step that does.
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
    """Which input of copies is the result of the one before, where nothing else differs; None where none is.

    Args:
      copies: in order.
    """
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


def find_repeats(steps: Sequence[Step], outputs: Sequence[int]) -> list[Repeat]:
    """The repeats that may save the most lines, the best one first.

    Args:
      steps: each behind those that it needs.
      outputs: the tensors that are returned.
    """
    until, last_reads = [0, *accumulate(step.lines for step in steps)], last_reads_of(steps, outputs)
    candidates: list[tuple[int, tuple[Copy, ...]]] = []
    for copies in _equal_segments(steps, last_reads):
        kept = _apart(copies)
        lines = [until[copy.stop] - until[copy.start] for copy in kept]
        if len(kept) > 1:
            candidates.append((sum(lines) - max(lines) - CLASS, tuple(kept)))
    found: list[tuple[float, tuple[Copy, ...]]] = []
    for most, copies in sorted(candidates, key=lambda candidate: (-candidate[0], candidate[1][0].start)):
        if most <= 0 or len(found) == _MOST_WEIGHED:
            break
        # Of as many copies, a part of a segment saves less.
        if not any(_are_inside(copies, others) for _, others in found):
            found.append((most * bonus(steps, copies), copies))
    return [Repeat(copies) for _, copies in sorted(found, key=lambda each: -each[0])[:_MOST]]


def bonus(steps: Sequence[Step], copies: Sequence[Copy]) -> float:
    """How much more a repeat counts that the model's names mark: those of each copy begin alike, and no others do."""
    names = [step.name for step in steps]
    return _BONUS if all(own_prefix(names, range(copy.start, copy.stop)) for copy in copies) else 1.0


def _are_inside(copies: Sequence[Copy], others: Sequence[Copy]) -> bool:
    """Whether each of some copies is a part of one of as many others."""
    return len(copies) == len(others) and all(
        other.start <= copy.start and copy.stop <= other.stop for copy, other in zip(copies, others, strict=True)
    )


def _equal_segments(steps: Sequence[Step], last_reads: Mapping[int, int]) -> list[list[Copy]]:
    """The segments of one result that stand more than once."""
    # A segment is a path in a tree of steps: two of them are equal if they end at the same node.
    nodes: dict[tuple[int, object], int] = {}
    segments: dict[tuple[int, object], list[Copy]] = {}
    for start in range(len(steps)):
        node = -1
        for copy, wiring, result in segments_from(steps, last_reads, start, _LONGEST):
            node = nodes.setdefault((node, wiring), len(nodes))
            if copy is not None:
                segments.setdefault((node, result), []).append(copy)
    return [copies for copies in segments.values() if len(copies) > 1]


def last_reads_of(steps: Sequence[Step], outputs: Sequence[int]) -> dict[int, int]:
    """The last step that reads each tensor; one behind the steps where it is returned."""
    last_reads = {number: index for index, step in enumerate(steps) for number in step.reads}
    return last_reads | dict.fromkeys(outputs, len(steps))


def segments_from(
    steps: Sequence[Step], last_reads: Mapping[int, int], start: int, longest: int
) -> Iterator[tuple[Copy | None, object, object]]:
    """The segments that begin at a step, one step longer each; None for one that has several results, or a step alone.

    Beside each its last step, and the result, as the segment has them whatever the numbers of its tensors are.

    Args:
      steps: each behind those that it needs.
      last_reads: of each tensor, the last step that does.
      start: the first step.
      longest: steps of the longest segment.
    """
    inputs, local, live = dict[int, int](), dict[int, tuple[int, int]](), list[int]()
    for offset, step in enumerate(steps[start : start + longest]):
        if not step.shape:
            return
        for number in step.reads:
            if number not in local:
                inputs.setdefault(number, len(inputs))
        reads = tuple(local.get(number, inputs.get(number)) for number in step.reads)
        local |= {number: (offset, index) for index, number in enumerate(step.writes)}
        live = [number for number in (*live, *step.writes) if last_reads.get(number, -1) > start + offset]
        is_segment = len(live) == 1 and offset > 0
        copy = Copy(start, offset + 1, tuple(inputs), live[0]) if is_segment else None
        yield copy, (step.shape, reads, len(step.writes)), local[live[0]] if is_segment else None


def _apart(copies: Sequence[Copy]) -> list[Copy]:
    """Copies none of which begins before another ends."""
    kept: list[Copy] = []
    for copy in copies:
        if not kept or kept[-1].stop <= copy.start:
            kept.append(copy)
    return kept


def own_prefix(names: Sequence[str], place: range) -> str:
    """What the names in a place begin with and no others do, up to a mark between words; "" where nothing is.

    Args:
      names: in order; "" where there is none.
      place: of a segment.
    """
    prefix = common_prefix([names[index] for index in place if names[index]])
    others = (name for index, name in enumerate(names) if index not in place)
    return "" if any(name.startswith(prefix) for name in others) else prefix


def common_prefix(names: Sequence[str]) -> str:
    """What names begin with, up to a mark between words."""
    return re.sub(r"[^_./-]*$", "", common_start(names)) if len(names) > 1 else ""


def common_start(names: Sequence[str]) -> str:
    """The characters that all names begin with."""
    same = takewhile(lambda characters: len({*characters}) == 1, zip(*names, strict=False))
    return "".join(characters[0] for characters in same)
