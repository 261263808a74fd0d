"""Compiles both programs of a workload for devices that need not be on this machine, and compares the modules."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from compare.devices import describing
from compare.devices.describing import Made
from compare.devices.device import Device
from compare.devices.ladder import ladders
from compare.hlo import kernel_times, partitions
from compare.hlo.align import align
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import ALGEBRA, Subject
from compare.hlo.overwriting import overwriting
from compare.hlo.portable import portable
from compare.plain_json import to_json
from compare.progress import Reporter
from compare.prove.collect import FLOAT32
from compare.prove.shared_parameters import updates
from compare.prove.subjects import subjects
from compare.record.target_part import OnTarget, Target
from compare.sides import requests
from compare.sides._side import SIDES, Side, SideError, Unavailable
from compare.sides.device_worker import DeviceWorker, Targets, missing
from workloads.protocol.framework import STEP, Platform, Program

CELLS = {side: f"{side}@jax" for side in SIDES}
"""By frontend, its program compiled by JAX's XLA: TensorFlow's own compiles for no device that is not here."""


WITHOUT_TRITON = {"xla_gpu_enable_triton_gemm": False}
"""Products by cuBLAS. On a device XLA leaves out a tiling that Triton cannot compile; without one it has no other."""


@dataclass(frozen=True)
class Lowered:
    """One frontend's program, and the platform that it was lowered for; `note` where that is not the device's."""

    program: Program
    platform: Platform
    note: str = ""


@dataclass(frozen=True)
class Given:
    """A program to compile: StableHLO bytecode, and the same as it is aligned with others."""

    artifact: bytes
    program: Subject


Compiled = tuple[OnTarget, Made | None]
"""A program on a device in numbers, and the module; None with the reason where XLA refuses it."""


@dataclass(frozen=True)
class TargetModules:
    """The modules of both programs for one device.

    Attributes:
      part: as the record has it.
      modules: by side, what there is.
      dumps: by side, the folder that XLA wrote for a GPU.
    """

    device: Device
    part: Target
    modules: Mapping[str, Made] = field(default_factory=dict)


def lower_program(side: Side, pass_: str, platform: Platform) -> Lowered:
    """A frontend's program of a pass in float32 for a platform; for the CPU where it lowers for no other.

    A training step overwrites what it updates, as both frameworks have it do on a device.

    Args:
      pass_: "forward", "gradients" or "step".

    Raises:
      SideError: the side cannot deliver it at all.
    """
    try:
        program, lowered_for, note = requests.program(side, pass_, FLOAT32, platform), platform, ""
    except Unavailable as error:
        program, lowered_for = requests.program(side, pass_, FLOAT32), "cpu"
        note = f"{side.name}'s program was lowered for the CPU: {error.reason}"
    if pass_ == STEP:
        program = dataclasses.replace(program, artifact=overwriting(program.artifact, updates(program)))
    return Lowered(program, lowered_for, note)


def compile_for_all(
    targets: Targets,
    sides: Mapping[str, Side],
    pass_: str,
    folder: Path,
    reporter: Reporter,
    assembling: bool = True,
) -> dict[str, TargetModules]:
    """By device, both programs compiled for it and compared. A failure concerns its device or cell alone.

    Args:
      sides: both workers by side, with the workload loaded.
      pass_: what is compiled: "forward", "gradients" or "step".
      folder: for the dumps, one folder a device and a side; what another call left there goes.
      assembling: whether each kernel is assembled once more, for its registers: half of the time of a large program.
    """
    results: dict[str, TargetModules] = {}
    lowerings: dict[Platform, dict[str, Lowered] | str] = {}
    shutil.rmtree(folder, ignore_errors=True)
    for device in targets.devices:
        reporter.step(device.name)
        if device.platform not in lowerings:
            lowerings[device.platform] = _lower_both(sides, pass_, device.platform)
        both = lowerings[device.platform]
        reason = both if isinstance(both, str) else missing(targets.worker, device)
        if reason or isinstance(both, str):
            empty = OnTarget(reason=reason)
            results[device.name] = TargetModules(device, _target(device, {side: empty for side in SIDES}))
        else:
            dumps = folder / device.name.replace(":", "-")
            results[device.name] = _compile_for(targets.worker, device, both, dumps, assembling)
    return results


def _lower_both(sides: Mapping[str, Side], pass_: str, platform: Platform) -> dict[str, Lowered] | str:
    try:
        return {name: lower_program(sides[name], pass_, platform) for name in SIDES}
    except SideError as error:
        return f"{error.side}: {error.reason}"


def _compile_for(
    worker: DeviceWorker, device: Device, both: Mapping[str, Lowered], folder: Path, assembling: bool
) -> TargetModules:
    programs = zip(SIDES, subjects(both["tf"].program, both["jax"].program), strict=True)
    inputs = {side: Given(both[side].program.artifact, program) for side, program in programs}
    compiled = compile_alike(worker, device, inputs, folder, assembling)
    cells = {
        side: replace(cell, lowered_for=both[side].platform, notes=(*cell.notes, *filter(None, [both[side].note])))
        if module
        else cell
        for side, (cell, module) in compiled.items()
    }
    modules = {side: module for side, (_, module) in compiled.items() if module is not None}
    part = replace(_target(device, cells), packages=dict(worker.platforms()[device.platform].versions))
    return TargetModules(device, _compare(part, modules), modules)


def compile_alike(
    worker: DeviceWorker, device: Device, programs: Mapping[str, Given], folder: Path, assembling: bool = True
) -> dict[str, Compiled]:
    """By name, a program in numbers on a device and its module; only a reason where XLA refuses it.

    All are compiled with the same options: without Triton's products where one of them compiles only so.

    Args:
      programs: by name.
      folder: for the dumps, one folder a name.
      assembling: whether each kernel of a GPU is assembled once more, for its registers.
    """
    first_try = _compile_all(worker, device, programs, folder, assembling, {})
    refusal = next((cell.reason for cell, _ in first_try.values() if cell.reason), "")
    if not refusal or device.platform != "gpu":
        return first_try
    beside = folder.with_name(f"{folder.name}.again")
    again = _compile_all(worker, device, programs, beside, assembling, WITHOUT_TRITON)
    if any(cell.reason for cell, _ in again.values()):
        return first_try
    shutil.rmtree(folder)
    beside.rename(folder)
    note = f"compiled with {_write_options(WITHOUT_TRITON)}: as it stands XLA refuses it ({refusal})"
    return {
        name: (replace(cell, notes=(*cell.notes, note)), module and dataclasses.replace(module, dump=folder / name))
        for name, (cell, module) in again.items()
    }


def _compile_all(
    worker: DeviceWorker,
    device: Device,
    programs: Mapping[str, Given],
    folder: Path,
    assembling: bool,
    options: Mapping[str, Any],
) -> dict[str, Compiled]:
    compiled: dict[str, Compiled] = {}
    for name, source in programs.items():
        try:
            artifact = portable(source.artifact)
            module, seconds = compile_one(worker, device, artifact, source.program, folder / name, assembling, options)
            compiled[name] = replace(describing.describe(device, module), compile_s=seconds), module
        except (SideError, UnreadableProgram) as error:
            reason = error.reason if isinstance(error, SideError) else str(error)
            compiled[name] = OnTarget(reason=reason.partition(", metadata=")[0]), None
    return compiled


def _write_options(options: Mapping[str, bool]) -> str:
    return " ".join(f"{name}={str(value).lower()}" for name, value in options.items())


def compile_one(
    worker: DeviceWorker,
    device: Device,
    artifact: bytes,
    program: Subject,
    dump: Path,
    assembling: bool = True,
    options: Mapping[str, Any] | None = None,
) -> tuple[Made, float]:
    """One program compiled for a device, and the seconds that it took.

    Args:
      assembling: whether each kernel of a GPU is assembled once more, for its registers.
      options: of XLA, by name.

    Raises:
      SideError: XLA refuses the program or an option, or the worker is lost.
      UnreadableProgram: the module cannot be read.
    """
    dump.mkdir(parents=True)
    result = worker.compile(device, artifact, dump, options or {})
    on_gpu = device.platform == "gpu"
    takes = result.takes
    memory = {
        "argument": takes.argument_bytes,
        "output": takes.output_bytes,
        "temp": takes.temp_bytes,
        "alias": takes.alias_bytes,
        "code": takes.code_bytes,
    }
    assemblies = worker.assemble(dump) if on_gpu and assembling else {}
    return Made(
        artifact=artifact,
        program=program,
        module=kernel_times.compiled_subject(program.label, result.module, program),
        memory=memory,
        dump=dump if on_gpu else None,
        reports={file: one.report for file, one in assemblies.items()},
        machine_code={file: one.machine_code for file, one in assemblies.items()},
    ), takes.compile_s


def _target(device: Device, cells: Mapping[str, OnTarget]) -> Target:
    return Target(
        tf=cells["tf"],
        jax=cells["jax"],
        description=device.description,
        source=device.source,
        memory_bytes=device.memory_bytes,
    )


def _compare(part: Target, modules: Mapping[str, Made]) -> Target:
    if len(modules) < len(SIDES):
        return part
    left, right = (dataclasses.replace(modules[side].module, label=CELLS[side]) for side in SIDES)
    differences = tuple(describing.differences(part, *(modules[side] for side in SIDES)))
    try:
        # By number alone: this machine cannot run the calls of these modules.
        alignment = align(left, right, ALGEBRA, ())
        regroupings = partitions.compare(left, right, ()).lines
    except UnreadableProgram as error:
        return replace(part, differences=(*differences, str(error)))
    return replace(part, equal=alignment.is_equal, differences=differences, regrouped=tuple(regroupings))


def target_view(target: TargetModules) -> dict[str, Any]:
    """One device as pages show it: the record's part, and under "ladders" each kernel's text at every level by cell."""
    cells = {"tf": target.part.tf, "jax": target.part.jax}
    ladders_by_cell = {
        CELLS[side]: ladders(module, cell.launched)
        for side, module in target.modules.items()
        if (cell := cells[side]) is not None
    }
    return {**to_json(target.part), "ladders": to_json(ladders_by_cell)}
