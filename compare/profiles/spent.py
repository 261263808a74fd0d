"""Where time was spent: of each run without what ran within it, and of what passed while nothing ran."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

from compare.profiles.shared_work import Timed
from compare.profiles.traced import HostSpan, Ran
from compare.record.profile_part import DEVICE

_LOOPS = re.compile(r"(?:while|call|conditional)(?:[.\d]+)?")
"""Names that XLA itself gives to what runs other instructions."""


_Any = TypeVar("_Any", bound=Timed)


@dataclass(frozen=True)
class Pause:
    """Time in which nothing ran, in picoseconds, between the runs that end and start it."""

    before: Ran
    after: Ran
    start: int
    end: int


@dataclass
class Pauses:
    """All pauses between the same two kernels, in picoseconds; `host` is what the host was in, by name."""

    times: int = 0
    length: int = 0
    host: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def own_times(runs: Sequence[Ran], opcode: Callable[[Ran], str]) -> list[int]:
    """Picoseconds of each run on its own thread, without the runs within it.

    Within is what the same thread began and ended meanwhile; of a loop, a call or a branch also what other threads ran
    of the same program, since its thread only waits for them. None of a GPU is within another.

    Args:
      opcode: of the instruction of a run; "" where the profile does not tell it.
    """
    own = _without_inner(runs)
    starts: dict[tuple[str, str], tuple[list[int], list[Ran]]] = {}
    for index, run in enumerate(runs):
        if (opcode(run) or run.name) in ("while", "call", "conditional") or _LOOPS.fullmatch(run.name):
            if run.module not in starts:
                of_module = sorted((ran for ran in runs if ran.module == run.module), key=attrgetter("start"))
                starts[run.module] = [ran.start for ran in of_module], of_module
            own[index] = min(own[index], run.end - run.start - _cover(run, *starts[run.module]))
    return own


def _cover(run: Ran, starts: Sequence[int], sorted_runs: Sequence[Ran]) -> int:
    """How much of a run other runs cover that began and ended meanwhile."""
    meanwhile = sorted_runs[bisect_left(starts, run.start) : bisect_right(starts, run.end)]
    inner = [other for other in meanwhile if other is not run and other.end <= run.end]
    return sum(end - start for start, end in merge((other.start, min(other.done, run.end)) for other in inner))


def _without_inner(runs: Sequence[Ran]) -> list[int]:
    own = [run.end - run.start for run in runs]
    for outer, inner in _nest(runs):
        if runs[outer].kind == DEVICE:
            continue
        own[outer] = max(own[outer] - (runs[inner].end - runs[inner].start), 0)
    return own


def _nest(spans: Sequence[_Any]) -> Iterator[tuple[int, int]]:
    """Places of each span that is within another of its thread, after that of the innermost such one."""
    open_: dict[int, list[int]] = defaultdict(list)
    for index in sorted(range(len(spans)), key=lambda place: (spans[place].start, -spans[place].end)):
        outer = open_[spans[index].thread]
        while outer and spans[outer[-1]].end <= spans[index].start:
            outer.pop()
        if outer:
            yield outer[-1], index
        outer.append(index)


def merge(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Disjoint intervals with the same union, in order."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if result and start <= result[-1][1]:
            result[-1] = result[-1][0], max(result[-1][1], end)
        else:
            result.append((start, end))
    return result


def pauses(runs: Iterable[Ran]) -> list[Pause]:
    """When nothing ran between the start of the first run and the end of the last, in order."""
    pauses: list[Pause] = []
    last: Ran | None = None
    for run in sorted(runs, key=attrgetter("start")):
        if last and run.start > last.done:
            pauses.append(Pause(last, run, last.done, run.start))
        last = run if last is None or run.done > last.done else last
    return pauses


def by_kernels(pauses: Sequence[Pause], host: Sequence[HostSpan]) -> dict[tuple[str, str], Pauses]:
    """Pauses by the names of the kernels around them, with what the host was in meanwhile.

    Args:
      host: what threads of the user's program were in; the innermost counts.
    """
    groups: dict[tuple[str, str], Pauses] = {}
    for pause in pauses:
        group = groups.setdefault((pause.before.name, pause.after.name), Pauses())
        group.times += 1
        group.length += pause.end - pause.start
    starts, ends = [pause.start for pause in pauses], [pause.end for pause in pauses]
    for name, start, end in _innermost(host):
        for pause in pauses[bisect_right(ends, start) : bisect_left(starts, end)]:
            meanwhile = min(end, pause.end) - max(start, pause.start)
            groups[pause.before.name, pause.after.name].host[name] += meanwhile
    return groups


def _innermost(spans: Sequence[HostSpan]) -> Iterator[tuple[str, int, int]]:
    """Each stretch of time in which a span was the innermost of its thread."""
    inner: Mapping[int, list[int]] = defaultdict(list)
    for outer, index in _nest(spans):
        inner[outer].append(index)
    for index, span in enumerate(spans):
        start = span.start
        for place in inner.get(index, ()):
            if spans[place].start > start:
                yield span.name, start, spans[place].start
            start = max(start, spans[place].end)
        if start < span.end:
            yield span.name, start, span.end
