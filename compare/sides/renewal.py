"""When a worker is replaced by a fresh one: between workloads, once it is not what it was at its start.

It holds much more memory, or the code of a workload has changed what the next one would meet.

What a framework keeps of every program that it compiled is not all within reach: TensorFlow's runtime holds
executables until its process ends.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from compare.bench import memory
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide
from compare.sides.replies import Changed

GROWTH_BYTES = 1 << 29
"""A fresh worker takes seconds to start. A file that imports both frameworks adds 300 MiB to JAX's worker when it is
loaded; 256 MiB are worth some ninety small ports."""

WORKLOADS = 100
"""Where memory is not counted, a worker serves so many."""


def held_bytes(side: LiveSide) -> int | None:
    """Bytes that a worker's process holds of its own; None where the platform counts none."""
    return memory.own_bytes(Path(f"/proc/{side.pid}/status"))


def changed_by(side: Side) -> Changed:
    """The changes of a workload's code to its process; none for a side without one, or whose process ended."""
    if not isinstance(side.answering, LiveSide):
        return Changed()
    with suppress(SideError):
        return requests.changed(side)
    return Changed()


@dataclass
class _Service:
    side: LiveSide
    held: int | None
    workloads: int = 0


class Renewal:
    """Keeps what each worker held once it had started, and counts the workloads that it served."""

    def __init__(self) -> None:
        self._services: dict[str, _Service] = {}

    def note_start(self, side: Side) -> None:
        """Note that a side has come up. One without a worker holds no memory."""
        if isinstance(side, LiveSide):
            self._services[side.name] = _Service(side, held_bytes(side))

    def due(self, side: Side) -> bool:
        """Whether a side is to be replaced before the workload that begins now. Never, where nothing was started."""
        service = self._services.get(side.name)
        if service is None or service.side is not side:
            return False
        service.workloads += 1
        if changed_by(side) != Changed():
            return True
        is_too_large = self.has_grown(side)
        return service.workloads > WORKLOADS if is_too_large is None else is_too_large

    def has_grown(self, side: Side) -> bool | None:
        """Whether a side holds much more than at its start; None where that was not measured."""
        service = self._services.get(side.name)
        if service is None or service.side is not side or service.held is None:
            return None
        now = held_bytes(service.side)
        return None if now is None else now - service.held > GROWTH_BYTES
