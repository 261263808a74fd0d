"""Reads dumps of GPUs: PTX kernels, and the sequence of thunks that the runtime executes. Pure text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from compare.hlo.dumps import grammar
from compare.hlo.dumps.directory import DumpedModule

_HOLDERS = frozenset({"kWhile", "kConditional", "kCommandBuffer", "kSequential", "kDynamicSliceFusion", "kAsyncStart"})
"""Thunks that run others and launch nothing of their own."""
_HOST = frozenset({"kPartitionId", "kReplicaId", "kAsyncDone", "kWaitForStreams", "kHostExecuteDone", "kInfeed"})
"""Thunks that launch nothing on the device."""

_TARGET = re.compile(r"^\s*\.target\s+(\w+)", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\((.*?)\)(.*?)\{", re.DOTALL)
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+%\w+<(\d{1,18})>")
_LAUNCH = re.compile(r"\.(reqntid|maxntid|maxnreg|minnctapersm)\s+([\d, ]+)")
_THUNK = re.compile(r"^( *)(\d{1,18}): (k\w+)[ \t]*(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class PtxKernel:
    """One entry of a PTX file.

    `registers` are the virtual registers declared by type, none of them yet a register of the hardware; `launch` are
    the directives that bound a launch, such as {"reqntid": "128, 1, 1"}.
    """

    name: str
    parameters: int
    registers: Mapping[str, int]
    launch: Mapping[str, str]


@dataclass(frozen=True)
class Ptx:
    """One PTX file."""

    file: str
    bytes: int
    target: str
    kernels: tuple[PtxKernel, ...]


@dataclass(frozen=True)
class Thunk:
    """One line of a thunk sequence; `depth` counts the thunks around it."""

    number: int
    kind: str
    depth: int
    what: str

    @property
    def launches(self) -> bool:
        """Whether it hands something of its own to the device."""
        return self.kind not in _HOLDERS | _HOST


@dataclass(frozen=True)
class Thunks:
    """One thunk sequence, counted by kind; `launched` are those that hand something to the device."""

    file: str
    launched: int
    kinds: Mapping[str, int]
    thunks: tuple[Thunk, ...]


def ptx(module: DumpedModule) -> tuple[Ptx, ...]:
    """The PTX files of a module."""
    return tuple(read_ptx(file.path.name, file.text(), file.bytes) for file in module.of(grammar.PTX))


def thunks(module: DumpedModule) -> tuple[Thunks, ...]:
    """The thunk sequences of a module: as emitted, and after thunk passes where there were any."""
    return tuple(read_thunks(file.path.name, file.text()) for file in module.of(grammar.THUNKS))


def read_ptx(file: str, text: str, size: int) -> Ptx:
    """The entries of one PTX file (PTX ISA 8: https://docs.nvidia.com/cuda/parallel-thread-execution).

    Args:
      size: its bytes.
    """
    target = _TARGET.search(text)
    matches = list(_ENTRY.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    kernels = [_entry(match, text[match.end() : end]) for match, end in zip(matches, ends, strict=False)]
    return Ptx(file, size, target[1] if target else "", tuple(kernels))


def read_thunks(file: str, text: str) -> Thunks:
    """The thunks of one sequence: "NUMBER: kKind  what", two spaces further in for each thunk around it."""
    indents = sorted({len(match[1]) for match in _THUNK.finditer(text)})
    thunks = tuple(
        Thunk(int(match[2]), match[3], indents.index(len(match[1])), match[4].strip())
        for match in _THUNK.finditer(text)
    )
    launch_count = sum(thunk.launches for thunk in thunks)
    return Thunks(file, launch_count, dict(Counter(thunk.kind for thunk in thunks).most_common()), thunks)


def _entry(match: re.Match[str], body: str) -> PtxKernel:
    registers: Counter[str] = Counter()
    for kind, number in _REGISTERS.findall(body):
        registers[kind] += int(number)
    return PtxKernel(
        name=match[1],
        parameters=match[2].count(".param"),
        registers=dict(registers),
        launch={name: value.strip() for name, value in _LAUNCH.findall(match[3])},
    )
