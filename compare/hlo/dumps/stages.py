"""How XLA compiled a module: counts and comparisons of its stages, and the changes by each dumped pass."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from compare.hlo import proto, read_module
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import dumped_programs, grammar
from compare.hlo.dumps.directory import DumpedFile, DumpedModule
from compare.hlo.graph import Graph, Node

_NO_CODE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"})
# What TensorFlow writes where it knows no line: an autocluster's instructions all have it.
_NO_SOURCE = "dummy_file_name:"
_CONTROL_FLOW = frozenset({"call", "while", "conditional"})


@dataclass(frozen=True)
class Stage:
    """One state of a module: every computation counted, those inside fusions included."""

    file: str
    instructions: int
    computations: int
    fusions: int
    opcodes: Mapping[str, int]
    structure: str
    """A digest, equal for programs that differ in names, metadata and values of constants alone."""
    left_out: tuple[str, ...] = ()
    """Constants whose values the text left out."""


@dataclass(frozen=True)
class PassStep:
    """The step between two consecutive dumps: the pass that the later is named after, or an unknown one.

    Under --xla_dump_hlo_pass_re=.* XLA dumps at every pipeline's start and after each pass that says it changed the
    module; under a narrower expression what passes without a dump changed is charged to the next that has one.
    `changed` is "instructions" (the count or the opcodes differ), "structure" (only shapes, layouts, order or
    attributes differ), "nothing", or "unknown" where a dump could not be read.
    """

    order: str
    pipeline: str
    after: str
    file: str
    instructions: int | None
    changed: str
    opcodes: Mapping[str, int] = field(default_factory=dict)
    """By opcode how many more there are than before the pass; opcodes without a difference left out."""


@dataclass(frozen=True)
class ExecutedInstruction:
    """One instruction of the optimized module that runs code, in order; `depth` counts the loops and calls around it.

    `within` counts by opcode what a fusion holds.
    """

    name: str
    opcode: str
    shape: str
    depth: int
    kind: str
    within: Mapping[str, int]
    op_name: str
    source: str


@dataclass(frozen=True)
class UnreadFile:
    """A file that could not be read, and why."""

    file: str
    reason: str


@dataclass(frozen=True)
class ModuleStages:
    """Both ends of the optimization, what differs between them, the passes between, and what runs in the end."""

    before: Stage | None
    after: Stage | None
    passes: tuple[PassStep, ...]
    steps: tuple[ExecutedInstruction, ...]
    problems: tuple[UnreadFile, ...]


def read_stages(module: DumpedModule) -> ModuleStages:
    """Everything that the HLO files of one module say; what cannot be read is among the problems."""
    problems: list[UnreadFile] = []
    before, after = (_stage(module, stage, problems) for stage in (grammar.BEFORE, grammar.AFTER))
    steps = tuple(_steps(read_module.read_message(after[1]))) if after else ()
    passes = tuple(_passes(module, before and before[0], after and after[0], problems))
    return ModuleStages(before and before[0], after and after[0], passes, steps, tuple(problems))


def difference(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """By opcode how many more the second has, the largest differences first, without those that are equal."""
    changes = {name: second.get(name, 0) - first.get(name, 0) for name in {*first, *second}}
    return {
        name: changes[name]
        for name in sorted(changes, key=lambda opcode: (-abs(changes[opcode]), opcode))
        if changes[name]
    }


def count(file: str, program: dumped_programs.DumpedProgram) -> Stage:
    """Count one program."""
    computations = program.module.computations
    opcodes = Counter(instruction.opcode for computation in computations for instruction in computation.instructions)
    return Stage(
        file=file,
        instructions=opcodes.total(),
        computations=len(computations),
        fusions=opcodes["fusion"],
        opcodes=dict(opcodes.most_common()),
        structure=_structure(program.module),
        left_out=tuple(sorted(program.left_out)),
    )


def _stage(module: DumpedModule, stage: str, problems: list[UnreadFile]) -> tuple[Stage, Any] | None:
    name = stage
    try:
        file = dumped_programs.stage_file(module, stage)
        name = file.path.name
        program = dumped_programs.read_file(file)
    except UnreadableProgram as error:
        problems.append(UnreadFile(name, str(error)))
        return None
    return count(name, program), program.module


def _passes(
    module: DumpedModule, before: Stage | None, after: Stage | None, problems: list[UnreadFile]
) -> Iterator[PassStep]:
    files = dumped_programs.pass_files(module)
    last = before
    for file in files:
        stage = _count_file(file, problems)
        yield _pass(file.details, file.path.name, last, stage)
        last = stage
    if files and after:
        yield _pass({}, after.file, last, after)


def _count_file(file: DumpedFile, problems: list[UnreadFile]) -> Stage | None:
    try:
        return count(file.path.name, dumped_programs.read_file(file))
    except UnreadableProgram as error:
        problems.append(UnreadFile(file.path.name, str(error)))
        return None


def _pass(details: Mapping[str, str], file: str, last: Stage | None, stage: Stage | None) -> PassStep:
    change, opcodes = "unknown", {}
    if last and stage:
        opcodes = difference(last.opcodes, stage.opcodes)
        change = "instructions" if opcodes else "nothing" if last.structure == stage.structure else "structure"
    return PassStep(
        order=details.get("order", ""),
        pipeline=details.get("pipeline", ""),
        after=details.get("after", ""),
        file=file,
        instructions=stage.instructions if stage else None,
        changed=change,
        opcodes=opcodes,
    )


def _structure(module: Any) -> str:
    """A digest of instructions by position, without names, ids, metadata and values."""
    digest = hashlib.sha256()
    numbers = {computation.id: place for place, computation in enumerate(module.computations)}
    for computation in module.computations:
        places = {instruction.id: place for place, instruction in enumerate(computation.instructions)}
        digest.update(f"{places[computation.root_id]} {len(places)};".encode())
        for instruction in computation.instructions:
            digest.update(_anonymous(instruction, places, numbers))
    return digest.hexdigest()


def _anonymous(instruction: Any, places: Mapping[int, int], numbers: Mapping[int, int]) -> bytes:
    copy = proto.new("HloInstructionProto")
    copy.CopyFrom(instruction)
    for name in ("name", "id", "metadata", "literal"):
        copy.ClearField(name)
    copy.operand_ids[:] = [places[key] for key in instruction.operand_ids]
    copy.control_predecessor_ids[:] = [places[key] for key in instruction.control_predecessor_ids if key in places]
    copy.called_computation_ids[:] = [numbers[key] for key in instruction.called_computation_ids]
    return copy.SerializeToString(deterministic=True)


def _steps(graph: Graph, depth: int = 0) -> Iterator[ExecutedInstruction]:
    for node in graph:
        if node.opcode in _CONTROL_FLOW:
            yield _step(node, depth)
            for region in node.regions:
                yield from _steps(region, depth + 1)
        elif node.opcode not in _NO_CODE:
            yield _step(node, depth)


def _step(node: Node, depth: int) -> ExecutedInstruction:
    is_fusion = node.opcode == "fusion"
    inside = [instruction for region in node.regions for instruction in region.walk()] if is_fusion else []
    within = Counter(instruction.opcode for instruction in inside if instruction.opcode != "parameter")
    kind = node.attribute("custom_call_target") or node.attribute("fusion_kind") or ""
    return ExecutedInstruction(
        name=node.name,
        opcode=node.opcode,
        shape=str(node.shape),
        depth=depth,
        kind=str(kind),
        within=dict(within.most_common()),
        op_name=node.op_name,
        source="" if node.source.startswith(_NO_SOURCE) else node.source,
    )
