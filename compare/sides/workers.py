"""A set of workers that belong together: started, replaced and closed by one owner, with one policy for failures.

A worker that is lost costs the request that lost it, and what it had loaded: it is dropped, and another one is started
when the set is asked for it next. Whoever asked turns the error into one failure of the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, TracebackType

from compare.record.workload_part import Failure
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide, close_all


class WorkerSet:
    """Workers by name. All are closed when the block ends, however it ends.

    Args:
      start: starts the worker of a name, and does not wait until its framework is imported.
    """

    def __init__(self, start: Callable[[str], Side]) -> None:
        self._start = start
        self._sides: dict[str, Side] = {}

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
        """Start those that were not started yet, in this order.

        Raises:
          SideError: one cannot be started.
        """
        for name in names:
            self.get(name)

    def get(self, name: str) -> Side:
        """The worker of a name, started where there is none. One that died stays until it is replaced or dropped.

        Raises:
          SideError: it cannot be started.
        """
        if name not in self._sides:
            self._sides[name] = self._start(name)
        return self._sides[name]

    def replace(self, names: Iterable[str]) -> None:
        """Close these workers and start others in their places, so that the order stays.

        Raises:
          SideError: one cannot be started; the closed one stays, and counts as lost.
        """
        for name in list(names):
            self._sides[name].close()
            self._sides[name] = self._start(name)

    def lost(self) -> list[str]:
        """The names of the workers whose processes ended."""
        return [name for name, side in list(self._sides.items()) if isinstance(side, LiveSide) and not side.alive]

    def replace_lost(self) -> list[str]:
        """Start another worker for each whose process ended; the names of those.

        Raises:
          SideError: one cannot be started.
        """
        lost = self.lost()
        self.replace(lost)
        return lost

    @contextmanager
    def asking(self, name: str) -> Iterator[Side]:
        """The worker of a name, for requests that belong together; it is dropped where one of them loses it.

        Raises:
          SideError: it cannot be started, or a request failed.
        """
        try:
            yield self.get(name)
        except SideError as error:
            if error.lost:
                self.drop(name)
            raise

    def drop(self, name: str) -> None:
        """Close a worker, if there is one; the next request starts another."""
        side = self._sides.pop(name, None)
        if side is not None:
            side.close()

    def close(self) -> None:
        """Close all workers: every process is killed before one is waited for."""
        close_all(self._sides.values())
        self._sides.clear()


def failure_of(error: SideError, during: str = "") -> Failure:
    """A side's error as a failure of the record.

    Args:
      error: what the side said.
      during: what the request was part of.
    """
    return Failure(error.side, f"{during}: {error.doing}" if during else error.doing, error.reason)
