"""What time tells, as a record has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compare import files
from compare.inputs.request import Request
from compare.measure import measurements
from compare.measure.timed_sets import Timed
from compare.plain_json import to_json
from compare.progress import Reporter
from compare.record.cost_parts import Entry, Limits
from compare.record.workload_part import Workload


class Drafts:
    """Parts of a record that are being measured: `measurements.time_all` adds to plain data, interrupted or not."""

    def __init__(self, parts: Mapping[str, Workload]) -> None:
        self._plain: dict[str, Any] = {name: to_json(part) for name, part in parts.items()}
        self._machine: dict[str, Any] = {}

    def measure(self, request: Request, to_time: Sequence[Timed], scratch: Path, reporter: Reporter) -> None:
        """Add what time tells.

        Raises:
          Interrupted: by Ctrl-C or SIGTERM; what was complete by then is there.
        """
        self._machine = measurements.time_all(request, to_time, self._plain, scratch, reporter)

    @property
    def workloads(self) -> dict[str, Workload]:
        """Every workload's part with what was measured so far."""
        return {name: files.converted(to_json(plain), Workload) for name, plain in self._plain.items()}

    @property
    def machine(self) -> dict[str, Limits]:
        """Limits by number of threads."""
        limits = to_json(self._machine.get("machine", {}))
        return {threads: files.converted(each or {}, Limits) for threads, each in limits.items()}

    @property
    def dispatch(self) -> dict[str, Entry]:
        """By mode, what a call costs at least."""
        calls = to_json(self._machine.get("dispatch", {}))
        return {mode: files.converted(each, Entry) for mode, each in calls.items()}
