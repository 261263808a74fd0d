"""Finds the instruction of each kernel in a CUDA graph: a profile has the names of the graph and of the kernels only.

XLA names a kernel that it writes after its instruction, in letters, digits and underscores. Kernels of libraries have
their own names: they are identified by their place among the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compare.hlo import proto
from workloads.protocol.framework import KernelRun

_NO_KERNEL = frozenset({"parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all"})


class _Place(NamedTuple):
    """The computation of an instruction, and its place in the schedule of that computation."""

    computation: int
    position: int


class Schedule:
    """The instructions of an optimized module that kernels compute, in the order in which XLA launches them.

    Args:
      module: a serialized HloModuleProto or HloProto; without a schedule in it only kernels that XLA wrote are known.

    Raises:
      UnreadableProgram: the bytes are no HLO.
    """

    def __init__(self, module: bytes) -> None:
        read = proto.read_module(module)
        instructions = {
            instruction.id: instruction for computation in read.computations for instruction in computation.instructions
        }
        self._order = {
            computation_schedule.computation_id: [
                instructions[number].name
                for number in computation_schedule.sequence.instruction_ids
                if number in instructions and instructions[number].opcode not in _NO_KERNEL
            ]
            for computation_schedule in read.schedule.sequences
        }
        self._places = {
            name: _Place(computation, position)
            for computation, names in self._order.items()
            for position, name in enumerate(names)
        }
        self._instructions = {instruction.name for instruction in instructions.values()}
        launch_names = self._places.keys() or self._instructions
        counts = Counter(map(_as_kernel, launch_names))
        self._written = {_as_kernel(name): name for name in launch_names if counts[_as_kernel(name)] == 1}

    def instructions(self, kernels: Sequence[str]) -> list[str]:
        """The instruction of each kernel, or its own name where the instruction is not known.

        Args:
          kernels: names of all that ran of the module, in the order in which they started.
        """
        matches = [name if name in self._instructions else self._written.get(name) for name in kernels]
        names = [name or kernel for name, kernel in zip(matches, kernels, strict=True)]
        seen_names = {name for name in matches if name}
        for gap in _gaps(matches):
            between = [name for name in self._between(gap.before, gap.after) if name not in seen_names]
            if len(between) == 1:
                between *= gap.end - gap.start
            if len(between) == gap.end - gap.start:
                names[gap.start : gap.end] = between
        return names

    def name_runs(self, call: Sequence[KernelRun]) -> list[KernelRun]:
        """The runs of one call in the order of their starts, with the names of their instructions."""
        names = self.instructions([run.name for run in call])
        return [run._replace(name=name) for run, name in zip(call, names, strict=True)]

    def _between(self, before: str | None, after: str | None) -> list[str]:
        """The kernels that are launched between two instructions; None is the start, or the end, of all."""
        start, end = (self._places.get(name) if name else None for name in (before, after))
        if (before and not start) or (after and not end) or not (start or end):
            return []
        if start and end and start.computation != end.computation:
            return []
        order = self._order[(start or end or _Place(0, 0)).computation]
        if start and end and end.position <= start.position:
            # The next call, or the next turn of a loop, has begun meanwhile.
            return order[start.position + 1 :] + order[: end.position]
        return order[start.position + 1 if start else 0 : end.position if end else None]


@dataclass(frozen=True)
class _Gap:
    """Kernels whose instructions no name tells, and the instructions of those before and after."""

    start: int
    end: int
    before: str | None
    after: str | None


def _gaps(names: Sequence[str | None]) -> Iterator[_Gap]:
    start = 0
    for index in range(len(names) + 1):
        if index < len(names) and names[index] is None:
            continue
        if index > start:
            yield _Gap(start, index, names[start - 1] if start else None, names[index] if index < len(names) else None)
        start = index + 1


def _as_kernel(instruction: str) -> str:
    return re.sub(r"\W", "_", instruction)
