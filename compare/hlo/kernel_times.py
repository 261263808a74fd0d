"""Where a call's time went: from the longest kernel to its HLO instruction to the source line, and back."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from compare.hlo import op_names, read_module, step_phases
from compare.hlo.compiled import kernels
from compare.hlo.graph import Node
from compare.hlo.levels import Subject

SMALL_S = 5e-6
"""Seconds below which a kernel takes about as long to start as to run."""


class RanKernel(Protocol):
    """One kernel as a profiler saw it run; workloads.protocol.framework.KernelRun is one."""

    @property
    def name(self) -> str:
        """The name of the kernel."""
        ...

    @property
    def thread(self) -> int:
        """Number of the thread that ran it."""
        ...

    @property
    def start_s(self) -> float:
        """Seconds from the start of the profile."""
        ...

    @property
    def seconds(self) -> float | None:
        """How long it ran; None where no times were kept."""
        ...


@dataclass(frozen=True)
class KernelTime:
    """All runs of one kernel in one call: `seconds` are those of all of them."""

    name: str
    seconds: float
    calls: int


@dataclass(frozen=True)
class Profile:
    """One call, each kernel's time the median over the calls that were profiled.

    Attributes:
      names: every kernel in the order in which the first of the calls ran them.
      seconds: of each of these, without the kernels that ran within it, as in a loop; empty where no times were kept.
      times: the same by name, longest first.
    """

    kernels: int
    names: tuple[str, ...]
    seconds: tuple[float, ...]
    times: tuple[KernelTime, ...]


@dataclass(frozen=True)
class LocatedKernel:
    """A kernel's time, what it is in the module, and all source lines of what it computes.

    `opcode` is "" where the module has no such instruction; `share` is that of all kernels' time; `phase` is one of
    vocabulary.PHASES, "" where nothing tells it.
    """

    name: str
    seconds: float
    calls: int
    share: float
    opcode: str = ""
    sources: tuple[str, ...] = ()
    phase: str = ""


@dataclass(frozen=True)
class LineTime:
    """A source line and the kernels that compute it; the time of a kernel of several lines counts for each of them."""

    source: str
    seconds: float
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class SmallRun:
    """Consecutive small kernels: what compiling them together would spare. `first` is a place in the profile."""

    first: int
    names: tuple[str, ...]
    seconds: float
    sources: tuple[str, ...] = field(default=())


def profile(calls: Sequence[Sequence[RanKernel]]) -> Profile:
    """The profile of a mode's calls. The k-th run of a name is the same run in every call.

    Raises:
      ValueError: no call was profiled.
    """
    if not calls:
        raise ValueError("expected at least one profiled call, found none")
    names = tuple(run.name for run in calls[0])
    seconds_by_place: dict[tuple[str, int], list[float]] = {}
    for call in calls:
        for place, seconds in zip(_count_repeats(run.name for run in call), _own_seconds(call), strict=True):
            if seconds is not None:
                seconds_by_place.setdefault(place, []).append(seconds)
    if not seconds_by_place:
        return Profile(len(names), names, (), ())
    seconds = tuple(statistics.median(seconds_by_place[place]) for place in _count_repeats(names))
    return Profile(len(names), names, seconds, _by_name(names, seconds))


def _count_repeats(names: Iterable[str]) -> list[tuple[str, int]]:
    """Each name with how often it came before."""
    counts: Counter[str] = Counter()
    pairs = []
    for name in names:
        pairs.append((name, counts[name]))
        counts[name] += 1
    return pairs


def _own_seconds(call: Sequence[RanKernel]) -> list[float | None]:
    """Seconds of each kernel without those that began and ended within it on its thread."""
    own = [run.seconds for run in call]
    open_: dict[int, list[int]] = {}
    for index, run in enumerate(call):
        outer = open_.setdefault(run.thread, [])
        while outer and run.start_s >= _end(call[outer[-1]]):
            outer.pop()
        if outer and own[outer[-1]] is not None:
            # Clocks are rounded: what runs within a kernel never took longer than the kernel.
            own[outer[-1]] = max((own[outer[-1]] or 0.0) - (run.seconds or 0.0), 0.0)
        outer.append(index)
    return own


def _end(kernel: RanKernel) -> float:
    return kernel.start_s + (kernel.seconds or 0.0)


def _by_name(names: Sequence[str], seconds: Sequence[float]) -> tuple[KernelTime, ...]:
    total: dict[str, float] = {}
    for name, run_seconds in zip(names, seconds, strict=True):
        total[name] = total.get(name, 0.0) + run_seconds
    calls = Counter(names)
    times = [KernelTime(name, total_s, calls[name]) for name, total_s in total.items()]
    return tuple(sorted(times, key=lambda time: -time.seconds))


def compiled_subject(label: str, module_bytes: bytes, program: Subject) -> Subject:
    """A program's optimized module under the program's names, its instructions at the program's source lines.

    TensorFlow's XLA drops the call stacks of a program that it did not trace, and keeps its op_names, after
    one of its own. An op_name that stands at several lines says nothing.
    """
    lines: dict[str, set[str]] = {}
    for node in read_module.read(program.hlo, program.sources).walk():
        if node.op_name and node.source:
            lines.setdefault(node.op_name, set()).add(node.source)
    line_by_op_name = dict(program.sources) | {name: names.pop() for name, names in lines.items() if len(names) == 1}
    foreign = {op_names.reimport_name(name): line for name, line in line_by_op_name.items()}
    return Subject(label, module_bytes, program.parameters, program.results, dict(program.sources) | foreign)


def locate(times: Sequence[KernelTime], compiled: Subject) -> tuple[LocatedKernel, ...]:
    """Kernels of a module that was profiled, with what they are in it, longest first.

    Raises:
      UnreadableProgram: the module cannot be read.
    """
    entry = read_module.read(compiled.hlo, compiled.sources)
    nodes = {node.name: node for node in (*kernels(entry), *entry)}
    phases = step_phases.phases(compiled.hlo)
    descriptions = {name: (node.opcode, sources_of(node), phases.get(name, "")) for name, node in nodes.items()}
    return _locate(times, descriptions)


def located_operations(times: Sequence[KernelTime], sources: Mapping[str, str]) -> tuple[LocatedKernel, ...]:
    """Operations of TensorFlow's graph, "NAME:TYPE", with their source lines by name, longest first.

    An operation that runs eagerly is known by its type alone, and has no line.
    """
    phases = dict(step_phases.of_operations(time.name.rpartition(":")[0] for time in times))
    descriptions = {}
    for time in times:
        name, separator, kind = time.name.rpartition(":")
        lines = tuple(filter(None, [sources.get(name, "")]))
        descriptions[time.name] = (kind if separator else "", lines, phases.get(name, ""))
    return _locate(times, descriptions)


def _locate(
    times: Sequence[KernelTime], descriptions: Mapping[str, tuple[str, tuple[str, ...], str]]
) -> tuple[LocatedKernel, ...]:
    total = sum(time.seconds for time in times) or 1.0
    return tuple(
        LocatedKernel(
            time.name, time.seconds, time.calls, time.seconds / total, *descriptions.get(time.name, ("", (), ""))
        )
        for time in sorted(times, key=lambda time: -time.seconds)
    )


def sources_of(node: Node) -> tuple[str, ...]:
    """Lines of everything that a kernel computes, those that most of it comes from first."""
    inner = [instruction.source for region in node.regions for instruction in region.walk()]
    lines = Counter(source for source in (*inner, node.source) if source)
    return tuple(line for line, _ in lines.most_common())


def lines(kernels: Sequence[LocatedKernel]) -> tuple[LineTime, ...]:
    """The way back: every source line with the kernels that compute it, longest first."""
    groups: dict[str, list[LocatedKernel]] = {}
    for kernel in kernels:
        for source in kernel.sources:
            groups.setdefault(source, []).append(kernel)
    times = [
        LineTime(source, sum(kernel.seconds for kernel in group), tuple(kernel.name for kernel in group))
        for source, group in groups.items()
    ]
    return tuple(sorted(times, key=lambda line: -line.seconds))


def small_runs(profile: Profile, kernels: Sequence[LocatedKernel] = ()) -> tuple[SmallRun, ...]:
    """Consecutive kernels that each take less than starting one costs, the runs that take longest in all first.

    Starting one costs SMALL_S, or twice the fastest kernel of the call if that is more: where every kernel is a
    call of its own, the fastest one is nearly all dispatch.
    """
    threshold_s = max(SMALL_S, 2 * min(profile.seconds, default=0.0))
    sources = {kernel.name: kernel.sources for kernel in kernels}
    runs: list[SmallRun] = []
    start = 0
    for index in range(len(profile.seconds) + 1):
        if index < len(profile.seconds) and profile.seconds[index] < threshold_s:
            continue
        if index - start > 1:
            names = profile.names[start:index]
            of_run = dict.fromkeys(source for name in names for source in sources.get(name, ()))
            runs.append(SmallRun(start, names, sum(profile.seconds[start:index]), tuple(of_run)))
        start = index + 1
    return tuple(sorted(runs, key=lambda run: -run.seconds))
