"""Whose work other threads did: tasks that a kernel handed to a pool, from what the pools of both frameworks write.

A pool records every task where it is handed over, under a number, and where a thread begins and ends it. A task belongs
to the kernel during which it was handed over, or to that of the task which handed it over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

HANDED, BEGINS, ENDS = (f"ThreadpoolListener::{what}" for what in ("Record", "StartRegion", "StopRegion"))
"""Events of a pool; they have no length."""


class Timed(Protocol):
    """Something that a thread was in; times are picoseconds."""

    @property
    def thread(self) -> int:
        """A number of the thread."""
        ...

    @property
    def start(self) -> int:
        """When it began."""
        ...

    @property
    def end(self) -> int:
        """When it ended."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """The part of a task on one thread; times are picoseconds, `inner` is the time of tasks within it."""

    number: str
    thread: int
    start: int
    end: int
    inner: int = 0


@dataclass
class Tasks:
    """Tasks of pools: where each was handed over, as thread and time, and who did it."""

    handed: dict[str, tuple[int, int]] = field(default_factory=dict)
    done: list[Task] = field(default_factory=list)


def shared_times(runs: Sequence[Timed], tasks: Tasks) -> list[int]:
    """Picoseconds that other threads worked on each run; what they ran of other kernels meanwhile is theirs."""
    of_runs, of_tasks = _Innermost(runs), _Innermost(tasks.done)
    times = [0] * len(runs)
    for index, task in enumerate(tasks.done):
        owner = _owner(index, tasks, of_runs, of_tasks)
        if owner is not None and not _holds(runs[owner], task):
            times[owner] += max(task.end - task.start - task.inner - of_runs.within(task), 0)
    return times


def _holds(run: Timed, task: Task) -> bool:
    """Whether a run's own thread did the task meanwhile: that is in the run's time already."""
    return run.thread == task.thread and run.start <= task.start and task.end <= run.end


def _owner(index: int, tasks: Tasks, of_runs: _Innermost, of_tasks: _Innermost) -> int | None:
    """The run that a task belongs to; None of one that was handed over outside of all."""
    seen_places: set[int] = set()
    place: int | None = index
    while place is not None and place not in seen_places:
        seen_places.add(place)
        handover = tasks.handed.get(tasks.done[place].number)
        if handover is None:
            return None
        run = of_runs.span_at(*handover)
        if run is not None:
            return run
        place = of_tasks.span_at(*handover)
    return None


class _Innermost:
    """Finds the innermost span of a thread at a time."""

    def __init__(self, spans: Sequence[Timed]) -> None:
        self._spans = spans
        self._ordered: dict[int, list[int]] = defaultdict(list)
        for index in sorted(range(len(spans)), key=lambda place: spans[place].start):
            self._ordered[spans[index].thread].append(index)
        self._starts = {thread: [spans[index].start for index in ats] for thread, ats in self._ordered.items()}
        # By place, when the last of all spans up to it ended: beyond that nothing earlier can still go on.
        self._ended = {
            thread: list(accumulate((spans[index].end for index in ats), max)) for thread, ats in self._ordered.items()
        }

    def span_at(self, thread: int, time: int) -> int | None:
        """Find the place of the span that began last before a time and had not ended."""
        place = bisect_right(self._starts.get(thread, ()), time) - 1
        while place >= 0 and self._ended[thread][place] >= time:
            if self._spans[self._ordered[thread][place]].end >= time:
                return self._ordered[thread][place]
            place -= 1
        return None

    def within(self, task: Task) -> int:
        """Picoseconds of the spans that a thread began and ended during a task; those within one of them count once."""
        starts = self._starts.get(task.thread, ())
        total, last = 0, task.start
        for place in range(bisect_left(starts, task.start), bisect_right(starts, task.end)):
            span = self._spans[self._ordered[task.thread][place]]
            if span.start >= last and span.end <= task.end:
                total, last = total + span.end - span.start, span.end
        return total


def pair_events(thread: int, events: Iterable[tuple[str, int, str]]) -> list[Task]:
    """The tasks of a thread, without those that neither begin nor end within the profile.

    Args:
      events: name, time and number of each event of a pool, in order.
    """
    tasks: list[Task] = []
    open_: list[tuple[int, str]] = []
    inner = [0]
    for name, time, number in events:
        if name == BEGINS:
            open_.append((time, number))
            inner.append(0)
        elif name == ENDS and open_:
            start, task_name = open_.pop()
            tasks.append(Task(task_name, thread, start, time, inner.pop()))
            inner[-1] += time - start
    return tasks
