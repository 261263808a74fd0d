"""The 2 x 2 of program and compiler: each frontend's program compiled and run by each side's XLA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from compare.hlo import compiled, kernel_times
from compare.hlo.arithmetic_types import NARROW, arithmetic_types, asked_types
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.differences import CompiledProgram
from compare.hlo.graph_kernels import Schedule
from compare.hlo.levels import Subject
from compare.parity import measure
from compare.prove import kernel_parts
from compare.prove.collect import Collected
from compare.prove.exact_cells import exact_results
from compare.prove.subjects import subject
from compare.record import program_parts
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import Side, SideError
from workloads.core import modes
from workloads.core.spec import Arrays
from workloads.protocol.framework import Compiled, Optimized, Program

TENSORFLOW, DOUBLE = "tf@tf", "tf in float64"
"""The references of results; the second is used if they differ from the first, which may be inexact itself."""

AGREEMENT = 1e-3
"""Far beyond what another order of float32 operations explains, far below what another program computes."""
TIPPED, TIPPED_PART = 0.1, 0.5
"""How far half of many results may differ instead. Now and then another order of operations tips an activation over the
edge of a ReLU, which moves the gradients before it: in ResNet's step at size default 55 of 237, by up to 2.5 %."""
MANY = 10
ROUNDINGS = 8
"""How many roundings are noise, relative to the largest result.

A moment of a gradient that is analytically zero is all noise. Roundings of a narrow float are relative to the largest
result of its kind, a weight or a state: in bfloat16 those of the largest of all would hide every moment.
"""


@dataclass(frozen=True)
class Cells:
    """The four cells.

    Attributes:
      described: by cell, counts and times, or the reason that it is empty.
      modules: by cell, what XLA made of the program.
      lost: failures that cost a side its worker.
    """

    described: Mapping[str, program_parts.Compiled] = field(default_factory=dict)
    modules: Mapping[str, CompiledProgram] = field(default_factory=dict)
    lost: Sequence[SideError] = ()


def compile_cells(sides: Mapping[str, Side], deliveries: Mapping[str, Collected], case: str) -> Cells:
    """Compile each program on each side, run it, and profile it.

    Args:
      sides: by side, its worker, if it is alive.
      deliveries: what each side delivered, by side.
    """
    descriptions: dict[str, program_parts.Compiled] = {}
    modules: dict[str, CompiledProgram] = {}
    outputs: dict[str, Arrays] = {}
    losses: dict[str, SideError] = {}
    for pairing in modes.CELLS:
        cell, frontend, compiler = str(pairing), pairing.frontend, pairing.compiler
        program = deliveries[frontend].portable if frontend in deliveries else None
        if compiler not in sides or compiler in losses:
            reason = losses[compiler].reason if compiler in losses else f"the {compiler} side is missing"
            descriptions[cell] = program_parts.Compiled(reason=reason)
        elif program is None:
            descriptions[cell] = program_parts.Compiled(reason=f"the {frontend} side gave no program")
        else:
            try:
                executable = requests.compile_program(sides[compiler], program)
                outputs[cell] = requests.execute(sides[compiler], executable.handle, case)
                optimized_module = requests.optimized(sides[compiler], executable.handle)
                modules[cell] = CompiledProgram(_module(cell, optimized_module, program), optimized_module.temp_bytes)
                descriptions[cell] = _with_types(
                    _describe(sides[compiler], executable, optimized_module, modules[cell]), program, optimized_module
                )
            except SideError as error:
                descriptions[cell] = program_parts.Compiled(reason=error.reason)
                if error.lost:
                    losses[compiler] = error
    descriptions |= _with_errors(descriptions, outputs, outputs.get("tf@tf", {}), TENSORFLOW)
    doubtful = {cell: outputs[cell] for cell in outputs if not _agrees(descriptions[cell])}
    if doubtful:
        alive = {side: sides[side] for side in sides if side not in losses}
        try:
            exact = exact_results(alive, deliveries, case)
        except SideError as error:
            losses[error.side], exact = error, {}
        exact_cells = _with_errors(descriptions, doubtful, exact, DOUBLE)
        descriptions |= {cell: compiled for cell, compiled in exact_cells.items() if exact and _agrees(compiled)}
    return Cells(descriptions, modules, list(losses.values()))


def _with_errors(
    descriptions: Mapping[str, program_parts.Compiled], outputs: Mapping[str, Arrays], expected: Arrays, name: str
) -> dict[str, program_parts.Compiled]:
    """The cells with the errors of their results."""
    by_cell = {cell: errors(outputs[cell], expected, _narrow(descriptions[cell])) for cell in outputs}
    return {
        cell: replace(
            descriptions[cell], error=max(cell_errors, default=None), usual_error=usual(cell_errors), held_against=name
        )
        for cell, cell_errors in by_cell.items()
    }


def disagreements(cells: Mapping[str, program_parts.Compiled]) -> list[Failure]:
    """Cells whose results are not those of TensorFlow's program: they computed something else."""
    return [
        Failure(
            modes.parse_cell(cell).compiler,
            f"cell {cell}",
            f"its results differ from {compiled.held_against} by {compiled.error:.2g} of the largest value",
        )
        for cell, compiled in cells.items()
        if not _agrees(compiled)
    ]


def _agrees(cell: program_parts.Compiled) -> bool:
    """Whether a cell's results agree with the expected ones; true without results."""
    return cell.error is None or agrees(cell.error, cell.usual_error)


def agrees(error: float, usual_error: float | None) -> bool:
    """Whether another order of operations explains the largest and the usual error of results."""
    return error <= TIPPED and usual_error is not None and usual_error <= AGREEMENT


def _describe(
    side: Side, executable: Compiled, optimized_module: Optimized, cell: CompiledProgram
) -> program_parts.Compiled:
    summary = compiled.describe(optimized_module.module, optimized_module.temp_bytes, cell.subject.sources)
    counts = program_parts.Compiled(
        instructions=summary.instructions,
        fusions=summary.fusions,
        kernels=summary.kernels,
        kernel_names=summary.kernel_names,
        flops=summary.flops,
        bytes=summary.bytes,
        text=summary.text,
        custom_calls=tuple(program_parts.CustomCall(**vars(call)) for call in summary.custom_calls),
        layout_copies=tuple(program_parts.LayoutCopy(**vars(copy)) for copy in summary.layout_copies),
        converts=tuple(program_parts.Convert(**vars(convert)) for convert in summary.converts),
        aliases=tuple(program_parts.Alias(**vars(alias)) for alias in summary.aliases),
        temp_bytes=summary.temp_bytes,
        executable_bytes=optimized_module.executable_bytes,
        compile_s=executable.compile_s,
    )
    return _with_times(counts, side, executable, cell.subject)


def _with_types(cell: program_parts.Compiled, program: Program, optimized_module: Optimized) -> program_parts.Compiled:
    """The cell with the types that it computes in, where the program asks for a narrow float."""
    try:
        asks = asked_types(program.artifact)
    except UnreadableProgram:  # by this process's XLA: the other side's took it
        return cell
    if not NARROW.keys() & asks.keys():
        return cell
    return replace(cell, asks=asks, computes=arithmetic_types(optimized_module.module).computes)


def _module(cell: str, optimized_module: Optimized, program: Program) -> Subject:
    try:
        source = subject(cell, program)
    except UnreadableProgram:
        # The other side's XLA may take a program that this process's does not: only its lines are missing then.
        return Subject(cell, optimized_module.module, sources=program.sources)
    return kernel_times.compiled_subject(cell, optimized_module.module, source)


def _with_times(
    cell: program_parts.Compiled, side: Side, executable: Compiled, module: Subject
) -> program_parts.Compiled:
    """The cell with its time by kernel and by line, or with the reason why it has none."""
    try:
        schedule = Schedule(module.hlo)
        profile = kernel_times.profile([schedule.name_runs(call) for call in requests.profile(side, executable.handle)])
    except SideError as error:
        if error.lost:
            raise
        return replace(cell, times_reason=error.reason)
    kernels = kernel_times.locate(profile.times, module)
    return replace(
        cell,
        times=kernel_parts.times(kernels),
        lines=kernel_parts.lines(kernels),
        small_runs=kernel_parts.small_runs(profile, kernels),
    )


def _narrow(cell: program_parts.Compiled) -> str:
    """The least precise float that a cell's program asks for, float32 where it asks for no narrow one."""
    return next((NARROW[dtype] for dtype in NARROW if dtype in cell.asks), "float32")


def _noise(expected: Arrays, dtype: str) -> dict[str, float]:
    """By result, the largest difference that is rounding in that type."""
    floats = {name: array for name, array in expected.items() if measure.is_float(array)}
    least = ROUNDINGS * measure.UNIT_ROUNDOFF["float32"] * measure.largest(floats.values())
    kinds = {name.partition("/")[0] for name in floats}
    of_kind = {
        kind: measure.largest(array for name, array in floats.items() if name.partition("/")[0] == kind)
        for kind in kinds
    }
    narrow = ROUNDINGS * measure.UNIT_ROUNDOFF[dtype]
    return {name: max(least, narrow * of_kind[name.partition("/")[0]]) for name in floats}


def errors(actual: Arrays, expected: Arrays, dtype: str = "float32") -> list[float]:
    """The relative difference of every result that both programs name alike; 0 where it is rounding in that type.

    Args:
      dtype: the least precise float that either computes in.
    """
    noise = _noise(expected, dtype)
    distances = []
    for name in sorted(actual.keys() & expected.keys()):
        if actual[name].shape != expected[name].shape:
            return [float("inf")]
        scale = measure.scale_of(expected[name], 0.0)
        error = measure.distance(actual[name], expected[name], scale).error
        distances.append(0.0 if error * scale <= noise.get(name, -1.0) else error)
    return distances


def usual(errors: Sequence[float]) -> float | None:
    """The largest error of the better half of the results; of few results, the largest of all."""
    spare = int(len(errors) * TIPPED_PART) if len(errors) >= MANY else 0
    return sorted(errors)[-1 - spare] if errors else None
