"""Which process or file stands for a side, and when a side that does not start is given up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from compare.sides import requests
from compare.sides._side import SIDES, Missing, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.recorded import RecordedSide
from compare.sides.renewal import Renewal
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet


@dataclass(frozen=True)
class Source:
    """Where a side comes from: an interpreter (None: this one), or a recorded file."""

    python: str | None = None
    recorded: Path | None = None


GIVES_UP = 3
"""After a side failed to start for this many workloads in a row, it is not started again."""


class Pool:
    """One side of each name, started when first asked for, started again after it was lost or has grown too large.

    A framework that is not installed is asked for once: later requests get the same answer at once. So do they where
    it did not come up for several workloads in a row.
    """

    def __init__(self, sources: dict[str, Source], scratch: Path, timeout_s: float, threads: int | None = None) -> None:
        self._sources, self._scratch, self._timeout_s = sources, scratch, timeout_s
        self._settings = Settings(threads)
        self._workers = WorkerSet(self._start)
        self._absent: dict[str, Missing] = {}
        self._failed: dict[str, list[SideError]] = {name: [] for name in sources}
        self._environments: dict[str, dict[str, Any]] = {}
        self._renewal = Renewal()

    def __enter__(self) -> Pool:
        # Recorded sides first: a broken file is refused before a worker is started. Imports run while inputs are drawn.
        self._workers.start(sorted(SIDES, key=lambda side: self._sources[side].recorded is None))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every worker; a side that is asked for afterwards is started again."""
        self._workers.close()

    def get(self, name: str) -> Side:
        """The side, running.

        Raises:
          SideError: it cannot be started.
        """
        if name in self._absent:
            raise self._absent[name]
        if len(self._failed[name]) >= GIVES_UP:
            raise self._failed[name][-1]
        side = self._workers.get(name)
        if isinstance(side, LiveSide):
            self._wait(name, side)
        return side

    def renew(self, *names: str, grown: bool = True) -> set[str]:
        """Before a workload: replace each worker that died since it answered last, or has grown too large.

        What it had loaded goes with it.

        Args:
          names: of those that are looked at; without any, all are.
          grown: whether workers that live are replaced for their size.

        Returns:
          The names of those that were replaced.
        """
        lost, sides = self._workers.lost(), self._workers.sides
        replaced = {
            name
            for name in names or list(sides)
            if name in lost or (grown and name in sides and self._renewal.due(sides[name]))
        }
        self._workers.replace(replaced)
        return replaced

    def _wait(self, name: str, side: LiveSide) -> None:
        try:
            side.wait_until_started()
        except SideError as error:
            self.drop(name)
            self._failed[name].append(error)
            if isinstance(error, Missing):
                self._absent[name] = error
            raise
        self._failed[name].clear()
        self._renewal.started(side)

    def environments(self) -> dict[str, dict[str, Any]]:
        """What each side says of itself, or why it is missing; and the file that it is replayed from."""
        return {name: self._environment(name) for name in SIDES}

    def _environment(self, name: str) -> dict[str, Any]:
        recorded = self._sources[name].recorded
        if name not in self._environments:
            if self._failed[name]:  # and tried again when the next workload asks
                return {"missing": self._failed[name][-1].reason}
            try:
                found = requests.environment(self.get(name))
            except SideError as error:
                return {"missing": error.reason}
            self._environments[name] = found | {"recorded": recorded.name if recorded else None}
        return self._environments[name]

    @contextmanager
    def asking(self, name: str) -> Iterator[Side]:
        """The side, for requests that belong together; a worker that one of them loses is replaced by the next `get`.

        Raises:
          SideError: it cannot be started, or a request failed.
        """
        self.get(name)
        with self._workers.asking(name) as side:
            yield side

    def drop(self, name: str) -> None:
        """Close a lost worker; the next request starts another."""
        self._workers.drop(name)

    def _start(self, name: str) -> Side:
        source = self._sources[name]
        if source.recorded is not None:
            return RecordedSide(name, source.recorded)
        return LiveSide(name, self._scratch, source.python, self._timeout_s, self._settings)
