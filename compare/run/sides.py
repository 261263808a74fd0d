"""Which process or file stands for a side, and what becomes of it when it fails."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from compare.run.renewal import Renewal
from compare.sides import requests
from compare.sides._side import SIDES, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.recorded import RecordedSide
from compare.sides.settings import Settings


@dataclass(frozen=True)
class Source:
    """Where a side comes from: an interpreter (None: this one), or a recorded file."""

    python: str | None = None
    recorded: Path | None = None


class Pool:
    """One side of each name, started when first asked for, started again after it was lost or has grown too large.

    A framework that is not installed is asked for once: later requests get the same answer at once.
    """

    def __init__(self, sources: dict[str, Source], scratch: Path, timeout_s: float, threads: int | None = None) -> None:
        self._sources, self._scratch, self._timeout_s = sources, scratch, timeout_s
        self._settings = Settings(threads)
        self._sides: dict[str, Side] = {}
        self._absent: dict[str, SideError] = {}
        self._renewal = Renewal()

    def __enter__(self) -> Pool:
        # Recorded sides first: a broken file is refused before a worker is started. Imports run while inputs are drawn.
        for name in sorted(SIDES, key=lambda each: self._sources[each].recorded is None):
            self._start(name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every worker. Sides are started when they are asked for, where nothing started them before."""
        for side in self._sides.values():
            side.close()
        self._sides = {}

    def get(self, name: str) -> Side:
        """The side, running.

        Raises:
          SideError: it cannot be started.
        """
        if name in self._absent:
            raise self._absent[name]
        side = self._sides.get(name) or self._start(name)
        if isinstance(side, LiveSide):
            try:
                side.wait_until_started()
            except SideError as error:
                side.close()
                self._absent[name] = error
                raise
            self._renewal.started(side)
        return side

    def renew(self, names: Collection[str] = ()) -> None:
        """Before a workload: replace each worker that has grown too large, of these names or of all.

        What it had loaded goes with it.
        """
        for name, side in list(self._sides.items()):
            if name in (names or self._sides) and self._renewal.due(side):
                self.drop(name)
                self._start(name)

    def environments(self) -> dict[str, dict[str, Any]]:
        """What each side says of itself, or why it is missing; and the file that it is replayed from."""
        return {name: self._environment(name) for name in SIDES}

    def _environment(self, name: str) -> dict[str, Any]:
        recorded = self._sources[name].recorded
        try:
            return requests.environment(self.get(name)) | {"recorded": recorded.name if recorded else None}
        except SideError as error:
            return {"missing": error.reason}

    def drop(self, name: str) -> None:
        """Forget a lost worker; the next request starts a fresh one."""
        side = self._sides.pop(name, None)
        if side is not None:
            side.close()

    def _start(self, name: str) -> Side:
        source = self._sources[name]
        if source.recorded is not None:
            self._sides[name] = RecordedSide(name, source.recorded)
        else:
            self._sides[name] = LiveSide(name, self._scratch, source.python, self._timeout_s, self._settings)
        return self._sides[name]
