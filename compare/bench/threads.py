"""Which threads of this process computed: what was asked for is one thing, what ran another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from compare.bench.clock import NANOSECONDS

TASKS = Path("/proc/self/task")


def cpu_seconds(tasks: Path = TASKS) -> dict[str, float]:
    """Seconds that each thread has run on a processor, by its number; empty where the platform keeps no count.

    The first field of schedstat, in nanoseconds: https://docs.kernel.org/scheduler/sched-stats.html.
    """
    found = {}
    for task in sorted(tasks.glob("*")):
        try:
            found[task.name] = int((task / "schedstat").read_text().split()[0]) * NANOSECONDS
        except OSError:
            continue  # the thread ended between listing and reading
    return found


def spent(before: Mapping[str, float], after: Mapping[str, float]) -> list[float]:
    """Seconds of each thread that ran in between, most first."""
    differences = (seconds - before.get(thread, 0.0) for thread, seconds in after.items())
    return sorted((seconds for seconds in differences if seconds > 0), reverse=True)


def computing(seconds: Sequence[float], least_share: float = 0.1) -> int:
    """How many threads did at least `least_share` of what the busiest did: the others only waited and dispatched."""
    return sum(each >= least_share * max(seconds) for each in seconds) if seconds else 0
