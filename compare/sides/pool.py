"""Keeps the worker process or recorded file of each side, and gives up a side that does not start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from compare.sides import requests
from compare.sides._side import SIDES, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.recorded import RecordedSide
from compare.sides.renewal import Renewal
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet
from workloads.core.device import ON_CPU, Device
from workloads.protocol.framework import Scalar


@dataclass(frozen=True)
class Source:
    """Where a side comes from: an interpreter (None: this one) on a device, or a recorded file."""

    python: str | None = None
    recorded: Path | None = None
    device: Device = ON_CPU


def live_device(sources: Mapping[str, Source]) -> Device:
    """The device of the live sides; the CPU if all are recorded.

    Args:
      sources: by side.
    """
    return next((source.device for source in sources.values() if source.recorded is None), ON_CPU)


class Pool:
    """One side of each name, started when first asked for, started again after it was lost or has grown too large.

    Args:
      timeout_s: how long a request may take.
      threads: for computing, in every worker; None leaves them to the framework.
    """

    def __init__(self, sources: dict[str, Source], scratch: Path, timeout_s: float, threads: int | None = None) -> None:
        self._sources, self._scratch, self._timeout_s = sources, scratch, timeout_s
        self._settings = Settings(threads)
        self._renewal = Renewal()
        self._workers = WorkerSet(self._start, self._renewal.note_start)
        self._environments: dict[str, dict[str, Scalar]] = {}

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
        """The side, running; another worker where a request lost the last one.

        Raises:
          SideError: it cannot be started, or is no longer tried.
        """
        return self._workers.get(name)

    def renew(self, *names: str, grown: bool = True) -> set[str]:
        """Before a workload: replace each worker that died since it answered last, or has grown too large.

        What it had loaded goes with it.

        Args:
          names: of those that are looked at; without any, all are.
          grown: whether workers that live are replaced for their size.

        Returns:
          The names of those that were replaced.
        """
        lost_names, sides = self._workers.find_lost(), self._workers.sides
        replacements = {
            name
            for name in names or list(sides)
            if name in lost_names or (grown and name in sides and self._renewal.due(sides[name]))
        }
        self._workers.replace(replacements)
        return replacements

    def close_grown(self) -> None:
        """Close each worker that holds much more than at its start: its memory is wanted before the next workload.

        What it has loaded goes with it.
        """
        self._workers.close([name for name, side in self._workers.sides.items() if self._renewal.has_grown(side)])

    def environments(self) -> dict[str, dict[str, Scalar]]:
        """By side its environment, or why it is missing; and the file that it is replayed from."""
        return {name: self._environment(name) for name in SIDES}

    def _environment(self, name: str) -> dict[str, Scalar]:
        recording = self._sources[name].recorded
        if name not in self._environments:
            failure = self._workers.failure(name)
            if failure is not None:  # and tried again when the next workload asks
                return {"missing": failure.reason}
            try:
                environment = requests.environment(self.get(name))
            except SideError as error:
                return {"missing": error.reason}
            self._environments[name] = environment | {"recorded": recording.name if recording else None}
        return self._environments[name]

    def _start(self, name: str) -> Side:
        source = self._sources[name]
        if source.recorded is not None:
            side = RecordedSide(name, source.recorded)
            side.require(source.device)
            return side
        settings = replace(self._settings, device=source.device)
        return LiveSide(name, self._scratch, source.python, self._timeout_s, settings)
