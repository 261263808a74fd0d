"""Describes the instructions in a profile's modules: opcode, frontend's name, lines, phase."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from compare.hlo import compiled, read_module, step_phases
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps.directory import modules
from compare.hlo.dumps.dumped_programs import stage_bytes
from compare.hlo.dumps.grammar import AFTER
from compare.hlo.graph import Node
from compare.hlo.graph_kernels import Schedule
from compare.hlo.kernel_times import sources_of

Key = tuple[str, str]
"""A module's name, and the number of the program that was compiled from it; "" of none."""


@dataclass(frozen=True)
class Instruction:
    """One instruction of an optimized module; texts are "" and `sources` empty where nothing tells them."""

    opcode: str = ""
    op_name: str = ""
    phase: str = ""
    sources: tuple[str, ...] = ()


class Programs:
    """The modules of a profile, each read when it is first asked for; those that cannot be read are in `problems`.

    Args:
      modules: HLO protos, by module and number.
    """

    def __init__(self, modules: Mapping[Key, bytes], dump: Mapping[Key, bytes] | None = None) -> None:
        self._held = modules, {(_as_file(name), number): module for (name, number), module in (dump or {}).items()}
        self._read: dict[Key, Mapping[str, Instruction]] = {}
        self.problems: dict[str, str] = {}

    def instruction(self, key: Key, name: str) -> Instruction:
        """An instruction by its name; of what no module holds, one that tells nothing."""
        if key not in self._read:
            self._read[key] = self._find(key)
        return self._read[key].get(name, Instruction())

    def schedule(self, key: Key) -> Schedule | None:
        """The order in which a module's instructions are launched; None where the module is missing or unreadable."""
        module = self._bytes(key)
        if module is None:
            return None
        try:
            return Schedule(module)
        except UnreadableProgram as error:
            self.problems[key[0]] = str(error)
            return None

    def has(self, key: Key) -> bool:
        """Whether there is a module for a program."""
        return bool(key[0]) and self._bytes(key) is not None

    def _find(self, key: Key) -> Mapping[str, Instruction]:
        module = self._bytes(key)
        if not key[0] or module is None:
            return {}
        try:
            return instructions(module)
        except UnreadableProgram as error:
            self.problems[key[0]] = str(error)
            return {}

    def _bytes(self, key: Key) -> bytes | None:
        modules, dump = self._held
        name, number = key
        return _of_program(modules, key) or _of_program(dump, (_as_file(name), number))


def _of_program(modules: Mapping[Key, bytes], key: Key) -> bytes | None:
    """The module of a program: by its number, else the only one of its name."""
    same_name = [module for (name, _), module in modules.items() if name == key[0]]
    return modules.get(key) or (same_name[0] if len(same_name) == 1 else None)


def _as_file(name: str) -> str:
    """A module's name as it stands in the name of a file, which holds fewer characters."""
    return re.sub(r"\W", "_", name)


def read_dump(directory: Path) -> dict[Key, bytes]:
    """The optimized modules of a dump directory, by name and number; without those that cannot be read.

    Raises:
      UnreadableProgram: it is not there, no directory, or holds no module.
    """
    modules_by_key: dict[Key, bytes] = {}
    for module in modules(directory):
        with contextlib.suppress(UnreadableProgram):
            modules_by_key[module.name, str(module.number)] = stage_bytes(module, AFTER)[0]
    return modules_by_key


def instructions(module: bytes) -> Mapping[str, Instruction]:
    """Every instruction of an optimized module, by name.

    Raises:
      UnreadableProgram: the bytes are no HLO.
    """
    entry = read_module.read(module)
    phase_by_name = step_phases.phases(module)
    return {
        node.name: Instruction(node.opcode, node.op_name, phase_by_name.get(node.name, ""), _sources(node))
        for graph in compiled.computations(entry, set())
        for node in graph
    }


def _sources(node: Node) -> tuple[str, ...]:
    """Lines of what a kernel computes; a loop or a branch is not where its instructions come from."""
    return tuple(filter(None, [node.source])) if node.opcode in compiled.CONTROL_FLOW else sources_of(node)
