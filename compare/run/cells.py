"""The 2 x 2 of program and compiler: each frontend's program compiled and run by each side's XLA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compare.hlo import compiled
from compare.parity import measure
from compare.records import CELLS, Failure
from compare.run.collect import Collected
from compare.sides import requests
from compare.sides._side import Side, SideError
from workloads._spec import Arrays

AGREEMENT = 1e-3
"""Far beyond what another order of float32 operations explains, far below what another program computes."""


def split(cell: str) -> tuple[str, str]:
    """(frontend, compiler) of "tf@jax": TensorFlow's program in JAX's XLA."""
    frontend, _, compiler = cell.partition("@")
    return frontend, compiler


def compile_cells(
    sides: Mapping[str, Side], collected: Mapping[str, Collected], case: str
) -> tuple[dict[str, dict[str, Any]], list[SideError]]:
    """Every cell's counts or the reason that it is empty, and the failures that cost a side its worker."""
    cells: dict[str, dict[str, Any]] = {}
    outputs: dict[str, Arrays] = {}
    lost: dict[str, SideError] = {}
    for cell in CELLS:
        frontend, compiler = split(cell)
        program = collected[frontend].portable if frontend in collected else None
        if compiler not in sides or compiler in lost:
            cells[cell] = {"reason": lost[compiler].reason if compiler in lost else f"the {compiler} side is missing"}
        elif program is None:
            cells[cell] = {"reason": f"the {frontend} side gave no program"}
        else:
            try:
                built = requests.compile_program(sides[compiler], program)
                outputs[cell] = requests.execute(sides[compiler], built.handle, case)
                cells[cell] = _described(built.optimized, built.temp_bytes, built.compile_s)
            except SideError as error:
                cells[cell] = {"reason": error.reason}
                if error.lost:
                    lost[compiler] = error
    for cell in outputs:
        cells[cell]["error"] = _distance(outputs[cell], outputs.get("tf@tf", {}))
    return cells, list(lost.values())


def disagreements(cells: Mapping[str, Mapping[str, Any]]) -> list[Failure]:
    """Cells whose results are not those of TensorFlow's program in TensorFlow's XLA: they computed something else."""
    return [
        Failure(split(cell)[1], f"cell {cell}", f"its results differ from tf@tf by {error:.2g} of the largest value")
        for cell, each in cells.items()
        if (error := each.get("error")) is not None and not error <= AGREEMENT
    ]


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
    """Largest relative difference over the results that both programs name alike; None without any."""
    distances = []
    for name in sorted(found.keys() & expected.keys()):
        if found[name].shape != expected[name].shape:
            return float("inf")
        scale = measure.scale_of(expected[name], 0.0)
        distances.append(measure.distance(found[name], expected[name], scale).error)
    return max(distances, default=None)
