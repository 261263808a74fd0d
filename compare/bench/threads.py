"""Measures which threads of this process computed, and on which processors: both may differ from the request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from compare.bench.clock import NANOSECONDS
from compare.record.timing_part import Bound, Threads

TASKS = Path("/proc/self/task")

TOLERANCE = 0.2
"""How far parallelism may lie from the threads asked for, as a part of them.

A matrix product of side 2048 came out at 1.00 to 1.04 on one thread; on two, single calls gave 1.6 to 2.03
with four other processes on both processors; three threads where four were asked for are 0.25 away.
"""

_ALLOWED = re.compile(r"^Cpus_allowed_list:\s*(\S*)$", re.MULTILINE)


def cpu_seconds(tasks: Path = TASKS) -> dict[str, float]:
    """Seconds that each thread has run on a processor, by its number; empty where the platform keeps no count.

    The first field of schedstat, in nanoseconds: https://docs.kernel.org/scheduler/sched-stats.html.
    """
    seconds: dict[str, float] = {}
    for task in sorted(tasks.glob("*")):
        try:
            seconds[task.name] = int((task / "schedstat").read_text().split()[0]) * NANOSECONDS
        except OSError:
            continue  # the thread ended between listing and reading
    return seconds


def seconds_spent(before: Mapping[str, float], after: Mapping[str, float]) -> list[float]:
    """Seconds of each thread that ran in between, most first."""
    differences = (seconds - before.get(thread, 0.0) for thread, seconds in after.items())
    return sorted((seconds for seconds in differences if seconds > 0), reverse=True)


def allowed_processors(tasks: Path = TASKS) -> list[int]:
    """Numbers of the processors that at least one thread of this process may run on, ascending.

    The union over threads: a pool that was started before the process was pinned keeps what it had, and one
    such thread is enough to compute where the other side may not. Cpus_allowed_list of status:
    https://docs.kernel.org/filesystems/proc.html. Empty where the platform does not tell.
    """
    processors: set[int] = set()
    for task in tasks.glob("*"):
        try:
            text = (task / "status").read_text()
        except OSError:
            continue  # the thread ended between listing and reading
        match = _ALLOWED.search(text)
        if match:
            processors |= _numbers(match[1])
    return sorted(processors)


def parallelism(seconds: Sequence[float]) -> float | None:
    """How many threads computed at once in one call: processor time of all of them over that of the busiest.

    Of one call of a large matrix product, which both sides can divide evenly: over several calls threads take
    turns, and JAX on two threads then comes out at 3.5. Dividing by the time that passed is worse: where others
    use the machine, two threads that share one processor come out like one (0.4 measured where this gives 1.9).
    None where no processor time was counted: the platform keeps none.
    """
    return sum(seconds) / max(seconds) if seconds and max(seconds) > 0 else None


def judge(count: int, bounds: Mapping[str, Bound]) -> Threads:
    """Hold what each side used against `count`, and the sides against each other."""
    use = {side: f"computed on {_at_once(bound)} at once{_places(bound)}" for side, bound in bounds.items()}
    wrong = [side for side, bound in bounds.items() if not uses_requested_threads(count, bound)]
    remedy = f"remove what sets threads or processors in the code or environment of {' and '.join(wrong)}"
    if any(bound.parallelism is None for bound in bounds.values()):
        remedy = "the platform does not count processor time by thread, and equal threads cannot be shown"
    return _judge(count, bounds, use, remedy if wrong else "")


def judge_processors(count: int, bounds: Mapping[str, Bound]) -> Threads:
    """Hold the processors of each side against `count`, and the sides against each other, where a GPU computes."""
    use = {side: f"launched{_places(bound)}" for side, bound in bounds.items()}
    wrong = [side for side, bound in bounds.items() if not _in_right_place(count, bound)]
    remedy = f"remove what sets processors in the code or environment of {' and '.join(wrong)}"
    return _judge(count, bounds, use, remedy if wrong else "")


def _judge(count: int, bounds: Mapping[str, Bound], use: Mapping[str, str], remedy: str) -> Threads:
    uses = ", ".join(f"{side} {request}" for side, request in use.items())
    request = f"asked for {count} thread{'s' * (count != 1)}, {uses or 'no side was observed'}"
    if not remedy and len({bound.processors for bound in bounds.values()}) > 1:
        remedy = "let all sides run on the same processors"
    return Threads(count, bounds, bool(bounds) and not remedy, f"{request}: {remedy}" if remedy else request)


def uses_requested_threads(count: int, bound: Bound) -> bool:
    """Whether a side computed on as many threads as asked, within `TOLERANCE`, and on as many processors."""
    if bound.parallelism is None or not _in_right_place(count, bound):
        return False
    return abs(bound.parallelism / count - 1) <= TOLERANCE


def _in_right_place(count: int, bound: Bound) -> bool:
    return not bound.processors or len(bound.processors) == count


def _at_once(bound: Bound) -> str:
    return "an unknown number" if bound.parallelism is None else f"{bound.parallelism:.1f}"


def _places(bound: Bound) -> str:
    return f" on processors {', '.join(map(str, bound.processors))}" if bound.processors else ""


def _numbers(ranges: str) -> set[int]:
    """{0, 1, 2, 8} of "0-2,8"."""
    numbers: set[int] = set()
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers
