"""The 2 x 2 of program and compiler: each frontend's program compiled and run by each side's XLA."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from compare.hlo import compiled
from compare.hlo.portable import portable
from compare.records import CELLS
from compare.run.collect import Collected
from compare.sides import requests
from compare.sides._side import Side, SideError
from workloads._framework import Program
from workloads._spec import Arrays


def split(cell: str) -> tuple[str, str]:
    """(frontend, compiler) of "tf@jax": TensorFlow's program in JAX's XLA."""
    frontend, _, compiler = cell.partition("@")
    return frontend, compiler


def program_of(collected: Collected) -> Program | None:
    """The program that a side hands to XLA, as any compiler takes it."""
    program = collected.main
    return program and dataclasses.replace(program, artifact=portable(program.artifact))


def compile_cells(
    sides: Mapping[str, Side], collected: Mapping[str, Collected], case: str
) -> dict[str, dict[str, Any]]:
    """Every cell's counts, or the reason that it is empty."""
    cells: dict[str, dict[str, Any]] = {}
    outputs: dict[str, Arrays] = {}
    for cell in CELLS:
        frontend, compiler = split(cell)
        if frontend not in collected or compiler not in sides:
            cells[cell] = {"reason": f"the {compiler if compiler not in sides else frontend} side is missing"}
            continue
        program = program_of(collected[frontend])
        if program is None:
            cells[cell] = {"reason": f"the {frontend} side gave no program"}
            continue
        try:
            built = requests.compile_program(sides[compiler], program)
            outputs[cell] = requests.execute(sides[compiler], built.handle, case)
            cells[cell] = _described(built.optimized, built.temp_bytes, built.compile_s)
        except SideError as error:
            cells[cell] = {"reason": error.reason}
            if error.lost:
                raise
    for cell in outputs:
        cells[cell]["error"] = _distance(outputs[cell], outputs.get("tf@tf", {}))
    return cells


def _described(optimized: bytes, temp_bytes: int | None, compile_s: float) -> dict[str, Any]:
    summary = compiled.describe(optimized)
    return {
        "instructions": summary.instructions,
        "fusions": summary.fusions,
        "kernels": summary.kernels,
        "kernel_names": list(summary.kernel_names),
        "temp_bytes": temp_bytes,
        "flops": summary.flops,
        "bytes": summary.bytes,
        "compile_s": compile_s,
        "text": summary.text,
    }


def _distance(found: Arrays, expected: Arrays) -> float | None:
    """Largest max|a - b| / max|b| over the results that both programs name alike."""
    distances = []
    for name in found.keys() & expected.keys():
        wide, other = found[name].astype(np.float64), expected[name].astype(np.float64)
        if wide.shape != other.shape:
            return float("inf")
        scale = np.max(np.abs(other), initial=0) or 1.0
        distances.append(float(np.max(np.abs(wide - other), initial=0) / scale))
    return max(distances, default=None)
