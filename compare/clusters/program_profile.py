"""Where the time of a whole program went, from what TensorFlow's profiler wrote of it: compiled, outside, compiling."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare import files, xspace
from compare.clusters.measured_share import OVERHEAD, RUN
from compare.record.clustering_part import TimeSplit

_A_PROFILE = files.Expected("a profile that TensorFlow wrote", "profile fewer seconds")

NODE = re.compile(r"(?P<name>[\w./-]+):(?P<op>\w+)")
EAGER = re.compile(r"EagerLocalExecute: (?P<op>[A-Za-z]\w*)")
_COMPILER = re.compile(r"\w*Compiler::RunBackend")
_EXECUTABLE = re.compile(r"\w*Executable::ExecuteAsyncOnStream")
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf"})
"""Nodes that wait for nodes of their own."""

_COMPILED, _OUTSIDE, _OVERHEAD, _WHOLE, _COMPILING = "compiled", "outside", "overhead", "whole", "compiling"


@dataclass(frozen=True)
class Span:
    """Something that went on: its name, and its thread with the times of it in picoseconds."""

    name: str
    thread: tuple[str, int]
    start: int
    end: int


@dataclass
class _Open:
    """A span whose end was not reached yet; `own` is its time without that of spans within it."""

    span: Span
    kind: str
    label: str
    own: int
    compiled_within: bool = False


def read_profile(path: Path) -> list[Span]:
    """The spans on the host, thread by thread: operations, their compilation and their execution only.

    Raises:
      FileError: it cannot be read, or is no profile.
    """
    space = xspace.read(path, _A_PROFILE)
    return [
        Span(names[event.metadata_id], (str(path), number), start, start + event.duration_ps)
        for plane in space.planes if plane.name == xspace.HOST
        for names in [{key: name for key, name in xspace.event_names(plane).items() if _kind(name)[0]}]
        for number, line in enumerate(plane.lines)
        for event in line.events if event.metadata_id in names
        for start in [line.timestamp_ns * 1000 + event.offset_ps]
    ]  # fmt: skip


def split(spans: Iterable[Span]) -> TimeSplit:
    """The seconds of all threads by who computed: time within time counts once, for what is innermost.

    Compiled is what ran in clusters and in functions of jit_compile=True; outside are all other operations, eager ones
    among them; overhead is compiling, finding clusters and handing on their results.
    """
    threads: dict[tuple[str, int], list[tuple[Span, str, str]]] = defaultdict(list)
    for span in spans:
        kind, label = _kind(span.name)
        if kind:
            threads[span.thread].append((span, kind, label))
    sums: dict[str, int] = defaultdict(int)
    nodes: dict[str, int] = defaultdict(int)
    for thread in threads.values():
        for kind, label, own in _own_times(thread):
            sums[kind] += own
            if kind == _OUTSIDE:
                nodes[label] += own
    if not sums:
        return TimeSplit(reason="the profiler saw no operation")
    return TimeSplit(
        compiled_s=sums[_COMPILED] * 1e-12,
        outside_s=sums[_OUTSIDE] * 1e-12,
        overhead_s=sums[_OVERHEAD] * 1e-12,
        nodes={name: own * 1e-12 for name, own in sorted(nodes.items(), key=lambda node: -node[1])},
    )


def _kind(name: str) -> tuple[str, str]:
    """The kind of a span, and NAME:OP of a node; "" for a span without an operation."""
    if match := NODE.fullmatch(name):
        op = match["op"]
        if op.startswith("__"):
            return _WHOLE, ""
        kind = _COMPILED if op == RUN else _OVERHEAD if op in OVERHEAD else "" if op in CALLS else _OUTSIDE
        return kind, name
    if match := EAGER.fullmatch(name):
        return _OUTSIDE, f"{match['op']}, eager"
    if _COMPILER.fullmatch(name):
        return _COMPILING, ""
    return (_COMPILED, "") if _EXECUTABLE.fullmatch(name) else ("", "")


def _own_times(thread: Sequence[tuple[Span, str, str]]) -> Iterable[tuple[str, str, int]]:
    """Kind, label and own time of each span of a thread."""
    stack: list[_Open] = []
    for span, kind, label in sorted(thread, key=lambda one: (one[0].start, -one[0].end)):
        while stack and stack[-1].span.end <= span.start:
            yield _close(stack.pop())
        if stack:
            stack[-1].own -= min(span.end, stack[-1].span.end) - span.start
        if kind == _COMPILING:
            for outer in stack:
                outer.compiled_within = True
        stack.append(_Open(span, kind, label, span.end - span.start))
    while stack:
        yield _close(stack.pop())


def _close(one: _Open) -> tuple[str, str, int]:
    """A function compiled whole: the call that compiles it is compiling, all but what the executable takes."""
    whole = _OVERHEAD if one.compiled_within else _COMPILED
    kind = {_WHOLE: whole, _COMPILING: _OVERHEAD}.get(one.kind, one.kind)
    return kind, one.label, max(one.own, 0)
