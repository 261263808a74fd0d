"""Reads a profile: runs of kernels and operations, the host's activities, and the modules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from compare import files, xspace
from compare.clusters.measured_share import OVERHEAD, RUN
from compare.clusters.program_profile import CALLS, EAGER, NODE
from compare.errors import RequestError
from compare.profiles.shared_work import BEGINS, ENDS, HANDED, Tasks, pair_events
from compare.record import profile_part
from workloads.protocol.event_statistics import HLO, OF_GRAPH, ON_GPU

_A_PROFILE = files.Expected(
    "a profile that jax.profiler or tf.profiler wrote",
    f"name a file *{xspace.SUFFIX}, or a folder that holds one",
    RequestError,
)
_METADATA = "/host:metadata"
_HLO_PROTO = "Hlo Proto"
_MODULE, _PROGRAM = "hlo_module", "program_id"
_ON_DEVICE = frozenset({ON_GPU, "memcpy_details", "Memset_details"})
"""Statistics that the profiler gives what a GPU ran, and nothing else (XLA, `cupti_collector.cc`)."""
_POOL = frozenset({HANDED, BEGINS, ENDS})
_WORKERS = "tf_"
"""The prefix of the names of threads in the frameworks' pools."""
_ENDS = "end: "
"""The prefix of events that XLA's CPU runtime writes at the end of a run, on any thread."""
_STARTED, _ENDED = "_p", "_c"
"""Statistics that number a run: where it starts, and where it is done."""
_NUMBERS = frozenset({_PROGRAM, _STARTED, _ENDED})
_WAITING = CALLS | OVERHEAD | {RUN, "XlaLaunch", "XlaCompileOnDemand"}
"""Nodes that run nothing themselves: what they wait for, or compile, stands for itself."""
_NUMBERED = re.compile(r"\((\d+)\)\s*$")


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a kernel or an operation; times are picoseconds.

    Attributes:
      kind: one of profile_part.KINDS.
      name: of the HLO instruction that it computes where the profile tells it, else its own, as in a CUDA graph.
      operation: the type of a node or an operation of TensorFlow; "" of anything else.
      module: the HLO module, and the number of the program that was compiled from it; ("", "") of none.
      thread: a number of the thread or stream.
      end: when its thread finished it.
      done: when all threads finished it; later than `end` if other threads computed a part.
    """

    kind: str
    name: str
    operation: str
    module: tuple[str, str]
    thread: int
    start: int
    end: int
    done: int


@dataclass(frozen=True, slots=True)
class HostSpan:
    """Something that a thread of the user's program was in; times are picoseconds."""

    name: str
    thread: int
    start: int
    end: int


@dataclass
class Traced:
    """A whole profile. `modules` are HLO protos, by module and number; `tasks` are those of pools of threads."""

    runs: list[Ran] = field(default_factory=list)
    tasks: Tasks = field(default_factory=Tasks)
    host: list[HostSpan] = field(default_factory=list)
    modules: dict[tuple[str, str], bytes] = field(default_factory=dict)


def read(paths: Sequence[Path]) -> Traced:
    """The files of one profile together. Where a GPU ran anything, only that counts as run.

    Raises:
      RequestError: one cannot be read, or is no profile.
    """
    traced, threads = Traced(), 0
    for path in paths:
        planes = xspace.read(path, _A_PROFILE).planes
        if not planes:
            _A_PROFILE.refuse(path, "an XSpace in which nothing was recorded")
        for plane in planes:
            if plane.name == _METADATA:
                traced.modules |= _modules(plane)
            names = _Plane(plane.name == xspace.HOST, xspace.event_names(plane), xspace.statistic_names(plane))
            ends = _ends(plane, names)
            for line in plane.lines:
                _read_line(line, names, ends, _Into(traced, threads))
                threads += 1
    if any(run.kind == profile_part.DEVICE for run in traced.runs):
        traced.runs = [run for run in traced.runs if run.kind == profile_part.DEVICE]
    return traced


@dataclass(frozen=True)
class _Plane:
    """The common facts of a plane's events: whether they are the host's, and names by number."""

    on_host: bool
    names: Mapping[int, str]
    statistics: Mapping[int, str]


def _modules(plane: Any) -> dict[tuple[str, str], bytes]:
    statistics = xspace.statistic_names(plane)
    return {
        _module_key(entry.value.name): statistic.bytes_value
        for entry in plane.event_metadata
        for statistic in entry.value.stats
        if statistics.get(statistic.metadata_id) == _HLO_PROTO and statistic.bytes_value
    }


def _module_key(name: str) -> tuple[str, str]:
    """Module and number of "jit_step(10)"."""
    match = _NUMBERED.search(name)
    return (name[: match.start()].strip(), match[1]) if match else (name.strip(), "")


@dataclass(frozen=True)
class _Into:
    """The lists that a line is read into, and the line's number."""

    traced: Traced
    thread: int


def _ends(plane: Any, names: _Plane) -> dict[tuple[str, str], int]:
    """By name and number of a run, when XLA's runtime learned that it was finished."""
    return {
        (name.removeprefix(_ENDS), run): line.timestamp_ns * 1000 + event.offset_ps
        for line in plane.lines
        for event in line.events
        if (name := names.names.get(event.metadata_id, "")).startswith(_ENDS)
        for run in [dict(_event_facts(event, names.statistics)).get(_ENDED, "")]
        if run
    }


def _read_line(line: Any, plane: _Plane, ends: Mapping[tuple[str, str], int], into: _Into) -> None:
    traced, thread = into.traced, into.thread
    worker = line.name.startswith(_WORKERS)
    pool: list[tuple[str, int, str]] = []
    for event in line.events:
        name = plane.names.get(event.metadata_id, "")
        start = line.timestamp_ns * 1000 + event.offset_ps
        if name in _POOL and plane.on_host:
            facts = dict(_event_facts(event, plane.statistics))
            pool.append((name, start, facts.get(_STARTED) or facts.get(_ENDED, "")))
            continue
        # A run of length 0 has no time; a negative length is an error of the clock.
        if not name or event.duration_ps <= 0:
            continue
        end, facts = start + event.duration_ps, dict(_event_facts(event, plane.statistics))
        what = _what(name, facts, plane.on_host)
        if what:
            end_of_work = ends.get((name, facts.get(_STARTED, "")), end)
            traced.runs.append(Ran(*what, thread, start, end, max(end, end_of_work)))
        elif plane.on_host and not worker:
            traced.host.append(HostSpan(name, thread, start, end))
    traced.tasks.handed |= {number: (thread, time) for name, time, number in pool if name == HANDED}
    traced.tasks.done += pair_events(thread, sorted(pool, key=itemgetter(1)))


def _event_facts(event: Any, statistics: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """The statistics of an event that say what it is."""
    for statistic in event.stats:
        name = statistics.get(statistic.metadata_id, "")
        if name in (HLO, _MODULE):
            yield name, xspace.text_of(statistic, statistics)
        elif name in _NUMBERS:
            yield name, str(statistic.uint64_value or statistic.int64_value)
        elif name in _ON_DEVICE or name == OF_GRAPH:
            yield name, ""


def _what(name: str, facts: Mapping[str, str], on_host: bool) -> tuple[str, str, str, tuple[str, str]] | None:
    """Kind, name, operation and module of what an event stands for; None of what is neither kernel nor operation."""
    module = (facts.get(_MODULE, ""), facts.get(_PROGRAM, ""))
    if facts.keys() & _ON_DEVICE:
        instruction = "" if OF_GRAPH in facts else facts.get(HLO)
        return profile_part.DEVICE, instruction or name, "", module
    if not on_host:
        return None
    if HLO in facts:
        ends = name.startswith(_ENDS)
        return None if ends else (profile_part.INSTRUCTION, facts[HLO] or name, "", module)
    eager, node = EAGER.fullmatch(name), NODE.fullmatch(name)
    if eager:
        return profile_part.EAGER, eager["op"], eager["op"], ("", "")
    if node and node["op"] not in _WAITING and not node["op"].startswith("__"):
        return profile_part.NODE, node["name"], node["op"], ("", "")
    return None
