"""Waits for the files that a judgement rests on to change, and says whose work is out of date then."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from compare.sides import requests
from compare.sides._side import SIDES, SideError
from compare.sides.pool import Pool

LOOK_S = 0.3
"""Between two looks at the files; an editor's save is whole when two looks in a row find the same."""

Stamp = tuple[int, int] | None
"""When a file was changed, in nanoseconds, and its size; None where there is no file."""


class WatchedFiles:
    """The files of both sides, as they were before a judgement.

    Args:
      ports: port files and files of functions, as they were named.
    """

    def __init__(self, ports: Iterable[Path]) -> None:
        self._ports = [path.resolve() for path in ports]
        self._imports: dict[str, set[Path]] = {side: set() for side in SIDES}
        self._stamps: dict[Path, Stamp] = {}

    @property
    def paths(self) -> set[Path]:
        """The files that both sides have imported, and all Python files beside the ports, which may be next."""
        beside = (path for port in self._ports for path in port.parent.glob("*.py"))
        return {*self._ports, *beside, *(path for paths in self._imports.values() for path in paths)}

    def note(self) -> None:
        """Remember the files as they are, before they are judged."""
        self._stamps = {path: stamp(path) for path in self.paths}

    def follow(self, pool: Pool) -> None:
        """Add what the sides imported while they were judged."""
        for side in SIDES:
            try:
                names = requests.imported(pool.get(side))
            except SideError:
                continue  # a side that does not come up has imported nothing
            for path in map(Path, names):
                self._imports[side].add(path)
                self._stamps.setdefault(path, stamp(path))

    def wait(self, sleep: Callable[[float], object] = time.sleep) -> list[Path]:
        """Wait until a file differs from before, and no save is under way; the files that differ.

        Args:
          sleep: waits for some seconds.
        """
        before: Mapping[Path, Stamp] | None = None
        while True:
            now = {path: stamp(path) for path in self.paths}
            changes = sorted(path for path in now if now[path] != self._stamps.get(path))
            if changes and now == before:
                return changes
            before = now
            sleep(LOOK_S)

    def find_outdated(self, changes: Collection[Path]) -> list[str]:
        """The sides that must be asked again: all but those whose files are known, and are none of these."""
        unknown = any(all(path not in paths for paths in self._imports.values()) for path in changes)
        return [side for side in SIDES if unknown or not self._imports[side].isdisjoint(changes)]


def stamp(path: Path) -> Stamp:
    """A stamp that changes when a file changes."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
