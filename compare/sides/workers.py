"""A set of workers that belong together: started, replaced and closed by one owner, with one policy for failures.

A worker that is lost costs the request that lost it, and what it had loaded; the next request gets another one. A
framework that is not installed is asked for once, what cannot be loaded is loaded once, and a worker that does not come
up is not started for ever. Whoever asked turns the error into one failure of the record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType, TracebackType

from compare.record.workload_part import Failure
from compare.sides._side import Missing, NoDevice, NotRecorded, Side, SideError

GIVES_UP = 3
"""After a worker failed to come up so many times in a row, it is not started again."""


class WorkerSet:
    """Workers by name. All are closed when the block ends, however it ends.

    Workers of different names may be asked for from different threads.

    Args:
      start: starts the worker of a name, and does not wait until its framework is imported.
      load: makes a new worker ready for requests; fails as the worker does. None leaves that to the caller.
    """

    def __init__(self, start: Callable[[str], Side], load: Callable[[Side], object] | None = None) -> None:
        self._start, self._load = start, load
        self._sides: dict[str, Side] = {}
        self._ready: dict[str, Side] = {}
        self._failed: dict[str, list[SideError]] = defaultdict(list)
        self._refused: dict[str, SideError] = {}

    def __enter__(self) -> WorkerSet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def sides(self) -> Mapping[str, Side]:
        """The workers that were started, in the order in which they were, and those among them that died."""
        return MappingProxyType(self._sides)

    def start(self, names: Iterable[str]) -> None:
        """Start those that were not started yet, in this order, and wait for none.

        Raises:
          SideError: one cannot be started.
        """
        for name in names:
            self.ensure(name)

    def ensure(self, name: str) -> Side:
        """Return the worker of a name without waiting for it; start one where there is none, or a request lost it.

        One that died idle stays, so that its user learns of the death.

        Raises:
          SideError: it cannot be started.
        """
        if name not in self._sides:
            self._sides[name] = self._start(name)
        elif self._sides[name].lost:
            self.replace([name])
        return self._sides[name]

    def get(self, name: str) -> Side:
        """The worker of a name, up and loaded: another one where there is none, or a request lost it.

        Raises:
          SideError: it does not come up, or cannot be loaded; the same again once it is no longer tried.
        """
        if name in self._refused:
            raise self._refused[name]
        side = self.ensure(name)
        if self._ready.get(name) is not side:
            self._make_ready(name, side)
        return side

    def failure(self, name: str) -> SideError | None:
        """Why the worker of a name did not come up when it was last asked for; None where it did, or never was."""
        return self._refused.get(name) or next(reversed(self._failed[name]), None)

    def replace(self, names: Iterable[str]) -> None:
        """Close these workers and start others in their places, so that the order stays.

        Raises:
          SideError: one cannot be started; the closed one stays, and counts as lost.
        """
        for name in list(names):
            self._sides[name].close()
            self._sides[name] = self._start(name)

    def find_lost(self) -> list[str]:
        """List the names of the workers whose processes ended."""
        return [name for name, side in list(self._sides.items()) if side.lost or not side.alive]

    def replace_lost(self) -> list[str]:
        """Start another worker for each whose process ended; the names of those.

        Raises:
          SideError: one cannot be started.
        """
        names = self.find_lost()
        self.replace(names)
        return names

    def close(self, names: Iterable[str] | None = None) -> None:
        """Close workers: every process is killed before one is waited for, so that an interrupt leaves none.

        Those that are asked for afterwards are started.

        Args:
          names: of those that are closed; all by default.
        """
        selection = set(list(self._sides) if names is None else names)
        sides = {name: side for name, side in list(self._sides.items()) if name in selection}
        for side in sides.values():
            side.kill()
        for side in sides.values():
            side.close()
        for name, side in sides.items():
            # Another thread that waited for it may have dropped or replaced it by now.
            if self._sides.get(name) is side:
                del self._sides[name]
            if self._ready.get(name) is side:
                del self._ready[name]

    def _make_ready(self, name: str, side: Side) -> None:
        try:
            side.wait_until_started()
            if self._load is not None:
                self._load(side)
        except SideError as error:
            self._sides.pop(name).close()
            self._note(name, error)
            raise
        self._ready[name] = side
        self._failed[name].clear()

    def _note(self, name: str, error: SideError) -> None:
        """Note a failed start: a missing or unloadable worker stays so, but a lost one may start the next time."""
        self._failed[name].append(error)
        if isinstance(error, Missing | NoDevice | NotRecorded) or not error.lost or len(self._failed[name]) >= GIVES_UP:
            self._refused[name] = error


def failure_of(error: SideError, during: str = "") -> Failure:
    """A side's error as a failure of the record."""
    doing = f"{during}: {error.doing}" if during else error.doing
    is_lost = error.lost or isinstance(error, Missing | NoDevice | NotRecorded)
    return Failure(error.side, doing, error.reason, error.mode, error.pass_, is_lost)
