"""One kernel from the frontend's program down to machine code: the same computation at every level of lowering."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from compare.devices.describing import Made
from compare.hlo import bindings, read_module
from compare.hlo.dumps import directory, gpu, grammar
from compare.hlo.dumps.directory import DumpedFile, DumpedModule
from compare.hlo.graph import Node
from compare.hlo.stablehlo_lines import Line, lines
from compare.record.target_part import Launch

LONGEST = 150
"""Lines of one level that are kept; the dump has all of them."""

_CALLED = re.compile(r"calls=%?([^\s,}]+)")


@dataclass(frozen=True)
class Level:
    """The text of one level: its first lines, how many there are, and the file of the dump that has them all."""

    name: str
    text: str
    lines: int
    file: str = ""


@dataclass(frozen=True)
class Ladder:
    """One kernel: its entry in the PTX, its instruction, and the levels that there are, from the frontend's down."""

    kernel: str
    instruction: str
    levels: tuple[Level, ...]


def ladders(product: Made, launches: Sequence[Launch]) -> tuple[Ladder, ...]:
    """The ladder of each different kernel that a module launches on a GPU, in the order of the runtime.

    Raises:
      UnreadableProgram: the program, the module or the dump cannot be read.
    """
    if product.dump is None:
        return ()
    module = directory.modules(product.dump)[-1]
    source_lines = lines(product.artifact)
    nodes = {node.name: node for node in read_module.read(product.module.hlo, product.module.sources).walk()}
    texts = _Printed(bindings.hlo_text(product.module.hlo))
    files = {kernel.name: file.file for file in gpu.ptx(module) for kernel in file.kernels}
    different = {(launch.kernel, launch.instruction): launch for launch in launches if launch.instruction}
    return tuple(
        Ladder(
            kernel,
            instruction,
            (
                *_stablehlo(nodes.get(instruction), source_lines),
                *_level("HLO", texts.instruction(instruction)),
                *_code(module, files.get(kernel, "")),
                *_level("machine code", product.machine_code.get(files.get(kernel, ""), "")),
            ),
        )
        for kernel, instruction in different
    )


def _stablehlo(node: Node | None, source_lines: Sequence[Line]) -> tuple[Level, ...]:
    """The operations that a kernel was made of: of the same name, shape and place, as far as each is known."""
    if node is None:
        return ()
    inner = [instruction for region in node.regions for instruction in region.walk()] or [node]
    texts = [line.text for line in source_lines if any(_made_of(instruction, line) for instruction in inner)]
    return _level("StableHLO", "\n".join(texts))


def _made_of(instruction: Node, line: Line) -> bool:
    same_place = not line.places or not instruction.source or instruction.source in line.places
    return bool(line.name) and line.name == instruction.op_name and line.shape == str(instruction.shape) and same_place


def _code(module: DumpedModule, ptx: str) -> tuple[Level, ...]:
    """LLVM IR and PTX of the kernels in one PTX file."""
    for file in module.of(grammar.PTX):
        if file.path.name == ptx:
            same = [
                llvm
                for llvm in module.of(grammar.LLVM)
                if llvm.details.get("kernel") == file.details.get("kernel") and llvm.details["detail"] == "with-opt"
            ]
            return (*(level for llvm in same for level in _of_file("LLVM IR", llvm)), *_of_file("PTX", file))
    return ()


def _of_file(name: str, file: DumpedFile) -> tuple[Level, ...]:
    return _level(name, file.text(), file.path.name)


def _level(name: str, text: str, file: str = "") -> tuple[Level, ...]:
    rows = text.strip("\n").splitlines()
    return (Level(name, "\n".join(rows[:LONGEST]), len(rows), file),) if rows else ()


class _Printed:
    """A module's HLO text, by instruction and computation."""

    def __init__(self, text: str) -> None:
        self._lines: dict[str, str] = {}
        self._computations: dict[str, str] = {}
        block: list[str] = []
        for line in text.splitlines():
            bare = line.strip().removeprefix("ROOT ")
            name, equals, _ = bare.partition(" = ")
            if equals and line.startswith(" "):
                self._lines.setdefault(name.lstrip("%"), line.strip())
            block = [line] if line.startswith(("%", "ENTRY")) else [*block, line] if block else []
            if line == "}" and block:
                head = block[0].removeprefix("ENTRY ").split(" ", 1)[0]
                self._computations[head.lstrip("%")] = "\n".join(block)
                block = []

    def instruction(self, name: str) -> str:
        """The line of an instruction, and the computations that it calls."""
        line = self._lines.get(name, "")
        computations = [self._computations.get(computation, "") for computation in _CALLED.findall(line)]
        return "\n\n".join(filter(None, [line, *computations]))
