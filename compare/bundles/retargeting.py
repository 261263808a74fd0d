"""A module alone, compiled for devices that are not here: what XLA makes of it there, or why it refuses it."""

from __future__ import annotations

from pathlib import Path

from compare.bundles.bundle import Module
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import Subject
from compare.progress import Reporter
from compare.prove.on_targets import Given, compile_alike
from compare.record.target_part import OnTarget
from compare.sides.device_worker import Targets, missing

_PROGRAM = "program"


def compile_module(targets: Targets, module: Module, folder: Path, reporter: Reporter) -> dict[str, OnTarget]:
    """By device, the module there; with the reason alone where it cannot be compiled."""
    reporter.stage(f"{module.name}: targets", len(targets.devices))
    results: dict[str, OnTarget] = {}
    try:
        program = Given(module.artifact, Subject(module.name, hlo_of_artifact(module.artifact)))
    except UnreadableProgram as error:
        return {device.name: OnTarget(reason=str(error)) for device in targets.devices}
    for device in targets.devices:
        reporter.step(device.name)
        reason = missing(targets.worker, device)
        dumps = folder / device.name.replace(":", "-")
        if reason:
            results[device.name] = OnTarget(reason=reason)
        else:
            results[device.name], _ = compile_alike(targets.worker, device, {_PROGRAM: program}, dumps)[_PROGRAM]
    return results
