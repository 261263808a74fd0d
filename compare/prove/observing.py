"""Makes a program of the user's own observe itself, and reads what that wrote."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from compare import files
from compare.clusters.clustered_graph import source_of
from compare.clusters.program_profile import Span, read_profile, split
from compare.files import FileError
from compare.record.clustering_part import NodeTime, Profiled, TimeSplit

FOLDER = "observed"
"""The name of a launch's folder; its files are on the program's PYTHONPATH."""

_COPIED = {
    "tf_reference._launched_program": "sitecustomize.py",
    "workloads.core.frames": "_jaxport_frames.py",
}
_SECONDS = "JAXPORT_PROFILE_SECONDS"
_LONGEST = 20
"""The most nodes outside of clusters that are kept."""

_WRITTEN = files.Expected("what a launched program noted", "launch it again")
_MOST_BYTES = 1 << 28
_FUNCTION = re.compile(r"__(?:inference|forward|backward)_(?P<name>.+)_\d+")
_LOGGED_BY = ("profiler_session.cc", "save_profile.cc")
_PROFILE = "profile"
"""The subjects of a reason. A process that died early gives none."""


class _Lines(msgspec.Struct):
    function: str
    lines: dict[str, str]


class _Reason(msgspec.Struct):
    what: str
    reason: str


class _Seconds(msgspec.Struct):
    seconds: float


_Note = TypeVar("_Note", bound=msgspec.Struct)


@dataclass(frozen=True)
class Observed:
    """The notes of the processes of a program.

    Attributes:
      lines: by the name of a function as it was traced, FILE:LINE by node.
      profiled: where its time went; None without a profile.
      notes: why something of it is missing.
    """

    lines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    profiled: Profiled | None = None
    notes: Sequence[str] = ()

    def of(self, function: str) -> Mapping[str, str]:
        """FILE:LINE by node of a function, as TensorFlow's log names it."""
        match = _FUNCTION.fullmatch(function)
        return self.lines.get(match["name"], {}) if match else {}


def prepare(folder: Path, seconds: float, environment: Mapping[str, str]) -> dict[str, str]:
    """Prepare a folder so that a program observes itself, and return the variables that it needs.

    Args:
      seconds: that each process is profiled for at most.
    """
    place = folder.resolve() / FOLDER
    place.mkdir(parents=True)
    for module, name in _COPIED.items():
        spec = importlib.util.find_spec(module)
        assert spec is not None and spec.origin is not None
        (place / name).write_bytes(Path(spec.origin).read_bytes())
    paths = filter(None, (str(place), environment.get("PYTHONPATH", "")))
    return {"PYTHONPATH": os.pathsep.join(paths), _SECONDS: str(seconds)}


def is_of_profiler(line: str) -> bool:
    """Whether a line of the log announces a profile."""
    return line.startswith("I") and any(f" {file}:" in line for file in _LOGGED_BY)


def read(folder: Path) -> Observed:
    """Read what the processes of a program wrote."""
    notes: list[str] = []
    processes = sorted(path for path in (folder / FOLDER).iterdir() if path.name.isdecimal())
    without_profile: set[Path] = set()
    traced = [one for process in processes for one in _read_notes(process / "lines.jsonl", _Lines, notes)]
    lines = _of_functions(traced)
    for process in processes:
        for one in _read_notes(process / "reasons.jsonl", _Reason, notes):
            notes.append(f"no {one.what} of process {process.name}: {one.reason}")
            if one.what == _PROFILE:
                without_profile.add(process)
    if not processes:
        notes.append("no process was profiled: none was seen to import TensorFlow, in Python that reads PYTHONPATH")
    return Observed(lines, _read_profiles(processes, without_profile, lines, notes), notes)


def _read_notes(path: Path, kind: type[_Note], notes: list[str]) -> Iterator[_Note]:
    """The lines of a file, if there is one; the last may be cut off where the program died."""
    if not path.exists():
        return
    try:
        data = files.read(path, _WRITTEN, _MOST_BYTES)
    except FileError as error:
        notes.append(f"not read: {error}")
        return
    decoder = msgspec.json.Decoder(kind)
    for line in data.splitlines():
        try:
            yield decoder.decode(line)
        except msgspec.DecodeError as error:
            notes.append(f"not read: a line of {path}: {error}")


def _of_functions(traced: Sequence[_Lines]) -> dict[str, dict[str, str]]:
    """By function, its lines; a node with different lines in different traces has none."""
    by_function: dict[str, dict[str, str]] = {}
    for one in traced:
        lines_of_function = by_function.setdefault(one.function, {})
        lines_of_function.update(
            {name: line if lines_of_function.get(name, line) == line else "" for name, line in one.lines.items()}
        )
    return {function: {name: line for name, line in lines.items() if line} for function, lines in by_function.items()}


def _read_profiles(
    processes: Sequence[Path], without_profile: Set[Path], lines: Mapping[str, Mapping[str, str]], notes: list[str]
) -> Profiled:
    seconds_by_process = {
        process: list(_read_notes(process / "profiled.jsonl", _Seconds, notes)) for process in processes
    }
    notes.extend(
        f"no {_PROFILE} of process {process.name}: it was ended by a signal or os._exit"
        for process, seconds in seconds_by_process.items()
        if not seconds and process not in without_profile
    )
    spans: list[Span] | None = None
    for path in sorted(path for process in processes for path in process.rglob("*.xplane.pb")):
        try:
            spans = [*(spans or ()), *read_profile(path)]
        except FileError as error:
            notes.append(f"not read: {error}")
    time = split(spans) if spans is not None else TimeSplit(reason="no profile was read")
    complete = [seconds for seconds in seconds_by_process.values() if seconds]
    return Profiled(
        processes=len(complete),
        seconds=sum(one.seconds for seconds in complete for one in seconds),
        time=replace(time, nodes={}),
        longest=tuple(
            NodeTime(name=name, seconds=seconds, source=_source(name, lines))
            for name, seconds in list(time.nodes.items())[:_LONGEST]
        ),
    )


def _source(node: str, lines: Mapping[str, Mapping[str, str]]) -> str:
    """FILE:LINE of a node, where all functions that have one of its name agree: a profile does not say whose it is."""
    name = node.rpartition(":")[0]
    sources = {source for function in lines.values() if (source := source_of(name, function))} if name else set()
    return sources.pop() if len(sources) == 1 else ""
