"""Phases: every mode in fresh processes of its own, without a compilation cache, with one, and with a dump."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from compare import files
from compare.bench import pairs, phases
from compare.bench.phases import Start
from compare.inputs.at_size import Prepared
from compare.progress import Reporter
from compare.record.cost_parts import Cache, Entry, Memory, Phases, Stages
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide
from compare.sides.pool import Source, live_device
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet, failure_of
from workloads.core.device import Device
from workloads.core.modes import Mode

REPEATS = 3
OBJECT_FILES = "*.o"

Result = TypeVar("Result")


@dataclass(frozen=True)
class Workers:
    """Starts fresh processes that are alike but for a compilation cache or a dump.

    Attributes:
      sources: which interpreter stands for a side.
      scratch: a folder for arrays in transit, caches and dumps.
      timeout_s: how long a request may take.
      threads: for computing, in every process; None leaves them to the framework.
      launch: what a process is started by.
    """

    sources: Mapping[str, Source]
    scratch: Path
    timeout_s: float
    threads: int | None = None
    launch: Callable[[str, Path, str | None, float, Settings], Side] = LiveSide

    @property
    def live(self) -> list[str]:
        """The sides that can be started: a recorded one has no process to look at."""
        return [side for side, source in self.sources.items() if source.recorded is None]

    @property
    def device(self) -> Device:
        """The device that the live sides compute on."""
        return live_device(self.sources)

    def start(self, side: str, cache: Path | None = None, dump: Path | None = None) -> Side:
        """A process of its own for one side.

        Args:
          cache: folder of a compilation cache; None is without one.
          dump: folder that XLA writes what it compiles to.
        """
        source = self.sources[side]
        settings = Settings(self.threads, cache, dump, whole_imports=True, device=source.device)
        return self.launch(side, self.scratch, source.python, self.timeout_s, settings)

    @contextmanager
    def once(self, side: str, cache: Path | None = None, dump: Path | None = None) -> Iterator[Side]:
        """A process of its own for one side, closed after the block.

        Raises:
          SideError: it does not come up.
        """
        with WorkerSet(partial(self.start, cache=cache, dump=dump)) as workers:
            yield workers.get(side)

    def folder(self, prefix: str) -> Path:
        """A new, empty folder."""
        return Path(tempfile.mkdtemp(prefix=prefix, dir=self.scratch))


def measure(
    instance: Prepared,
    modes: Mapping[str, Sequence[str]],
    workers: Workers,
    reporter: Reporter,
    repeats: int = REPEATS,
) -> tuple[dict[str, Phases], list[Failure]]:
    """Phases by mode ("tf/jit"), and what failed. A mode whose cold processes fail has none.

    Args:
      modes: by side, as `timed_sets.Timed` has them.
      repeats: processes that a median is taken over; a mode takes twice as many, and two more.
    """
    phases_by_mode: dict[str, Phases] = {}
    failures: list[Failure] = []
    wanted_modes = [Mode(side, name) for side in workers.live for name in modes.get(side, ())]
    reporter.stage(f"phases of {instance.workload.name}", len(wanted_modes))
    for mode in wanted_modes:
        reporter.step(str(mode))
        phases_of_mode = _measure_one(_Processes(instance, mode, workers), repeats, failures)
        if phases_of_mode is not None:
            phases_by_mode[str(mode)] = phases_of_mode
    return phases_by_mode, failures


def dispatch(workers: Workers, pair_count: int = 3, seed: int = 0) -> tuple[dict[str, Entry], list[Failure]]:
    """By mode, the median over fresh processes of what a call costs that does next to nothing.

    The order in which the sides run is balanced; one of them works at a time.
    """
    entries: dict[str, list[Entry]] = defaultdict(list)
    failures: list[Failure] = []
    for pair in range(pair_count):
        with WorkerSet(workers.start) as group:
            order = pairs.spawn_order(workers.live, pair, seed)
            # One that cannot be started says so again when it is asked.
            with suppress(SideError):
                group.start(order)
            for name in order:
                try:
                    for mode, times in requests.dispatch(group.get(name)).items():
                        entries[str(Mode(name, mode))].append(Entry(**times))
                except SideError as error:
                    failures.append(failure_of(error, "dispatch"))
    return {
        mode: phases.median_dispatch(entries_of_mode) for mode, entries_of_mode in sorted(entries.items())
    }, failures


@dataclass(frozen=True)
class _Processes:
    """One mode of one workload in processes of its own."""

    prepared: Prepared
    mode: Mode
    workers: Workers

    def cold(self, repeats: int) -> tuple[Stages, Memory | None]:
        """The median without a cache, and the compiler's account of the memory."""
        starts = [self._start() for _ in range(repeats)]
        return phases.median([phases.process_of(start) for start in starts]), phases.memory_of(starts[0])

    def measure_cached(self, repeats: int) -> tuple[Stages | None, Cache]:
        """One process fills an empty cache; the median of those that follow, where it kept anything."""
        folder = self.workers.folder("cache-")
        self._start(folder)
        sizes_before = _sizes(folder, "*")
        starts = [self._start(folder) for _ in range(repeats)] if sizes_before else []
        processes = [phases.process_of(start) for start in starts]
        return phases.median(processes) if processes else None, phases.cache_of(sizes_before, _sizes(folder, "*"))

    def code(self) -> tuple[int | None, str]:
        """Bytes of the object files that XLA writes until the mode has run."""
        folder = self.workers.folder("dump-")
        with self.workers.once(self.mode.side, dump=folder) as side:
            requests.load(side, self.prepared.loading)
            before = _sizes(folder, OBJECT_FILES)
            # Not the request for phases: that compiles a second time.
            requests.prepare(side, self.mode.name)
        return phases.code_of(before, _sizes(folder, OBJECT_FILES))

    def _start(self, cache: Path | None = None) -> Start:
        with self.workers.once(self.mode.side, cache) as side:
            requests.load(side, self.prepared.loading)
            return files.convert_plain(requests.phases(side, self.mode.name), Start)


def _measure_one(processes: _Processes, repeats: int, failures: list[Failure]) -> Phases | None:
    """All that is known of a mode; None where it did not come through without a cache."""

    def attempt(what: str, ask: Callable[[], Result], otherwise: Callable[[str], Result]) -> Result:
        try:
            return ask()
        except SideError as error:
            failures.append(failure_of(error, f"phases {processes.mode}, {what}"))
            return otherwise(error.reason)

    cold, memory = attempt("cold", lambda: processes.cold(repeats), lambda reason: (None, None))
    if cold is None:
        return None
    cached_stages, cache = attempt(
        "cached",
        lambda: processes.measure_cached(repeats),
        lambda reason: (None, Cache(entries=0, bytes=0, reason=reason)),
    )
    code_bytes, code_reason = attempt("code", processes.code, lambda reason: (None, reason))
    return Phases(
        cold=cold,
        cached=cached_stages,
        cache=cache,
        memory=memory,
        code_bytes=code_bytes,
        code_reason=code_reason,
        processes=repeats,
    )


def _sizes(folder: Path, pattern: str) -> dict[str, int]:
    """Bytes by file, in the folder and in those inside it."""
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob(pattern) if path.is_file()}
