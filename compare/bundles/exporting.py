"""A port as what runs without its framework being traced: StableHLO with a runner, jax.export's form, a SavedModel."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compare.bundles.gathering import Request, mapped_twin
from compare.errors import RequestError
from compare.hlo.portable import portable
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_one
from compare.inputs.sizes import choose_size
from compare.progress import Reporter
from compare.prove.collect import FLOAT32
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import BadTarget, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet, failure_of
from compare.writing import write_atomically
from workloads.core.modes import JAX, TF
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, Program, Scalar
from workloads.protocol.same_masks import MULTIPLIERS

FORMAT = 1
INDEX, PROGRAM, WEIGHTS, EXAMPLE = "export.json", "program.mlirbc", "weights.npz", "example.npz"
_HASHES = MULTIPLIERS[0].to_bytes(4, "little")
"""In a program, tells that numbers are drawn by place."""
EXPORTED, SAVED_MODEL, RUNNER, ORDER = "program.jax_export", "saved_model", "run.py", "order.txt"
RUNNER_SOURCE = Path(__file__).with_name("run_exported.py")
"""Copied as it stands: nothing here imports it, since it starts XLA in its own process."""
RUNNERS_IN_CPP = Path(__file__).with_name("runners")
"""Sources of the runners that run without Python, and the script that builds them, with it; copied likewise."""


@dataclass(frozen=True)
class ExecutableSize:
    """The size of the executable that a side's XLA compiled, in bytes; None where it is not known."""

    side: str
    module: int | None
    executable: int | None


@dataclass(frozen=True)
class Exported:
    """The failures of an export, and the size of each side's executable."""

    failures: Sequence[Failure]
    executables: Sequence[ExecutableSize]


def export(request: Request, folder: Path, scratch: Path, reporter: Reporter) -> Exported:
    """Write a port's forward pass into a folder; return the failures and the sizes of executables.

    Args:
      request: what to export; its targets are not asked for.

    Raises:
      BadTarget: the function that was named does not exist.
      RequestError: the workload has no such size.
      SideError: JAX cannot deliver the program: there is nothing to export.
      UnreadableProgram: what it delivered is not StableHLO that every XLA reads.
    """
    workload = request.workload
    instance = prepare_one(workload, choose_size(workload, request.size), request.data, scratch)
    reporter.stage(f"{workload.name}: export", 2)
    failures: list[Failure] = []
    executables: list[ExecutableSize] = []
    cache = scratch / "compiled"
    cache.mkdir()
    with WorkerSet(_starting(request, scratch, cache), lambda side: _load(side, instance)) as workers:
        reporter.step(JAX)
        jax = workers.get(JAX)
        program = _program(jax)
        _write_program(folder, instance, program, _example(jax, instance))
        _write(folder, requests.environment(jax), instance, program)
        _attempt(failures, lambda: write_atomically(folder / EXPORTED, requests.serialized(jax, FORWARD)))
        handle = requests.compile_program(jax, program).handle
        _attempt(failures, lambda: executables.append(_executable_size(jax, handle)))
        reporter.step(TF)
        _attempt(failures, lambda: _save_model(workers.get(TF), program, folder / SAVED_MODEL, cache, executables))
    return Exported(failures, executables)


def _starting(request: Request, scratch: Path, cache: Path) -> Callable[[str], LiveSide]:
    """Starts a worker. TensorFlow's keeps what XLA compiles in a folder, because only files show its size."""

    def start(name: str) -> LiveSide:
        settings = Settings(compilation_cache=cache) if name == TF else Settings()
        return LiveSide(name, scratch, request.pythons.get(name), request.timeout_s, settings)

    return start


def _executable_size(side: Side, handle: int, executable: int | None = None) -> ExecutableSize:
    module = requests.optimized(side, handle)
    return ExecutableSize(side.name, len(module.module), module.executable_bytes or executable)


def _load(side: Side, instance: Prepared) -> None:
    requests.load(side, instance.loading)


def _attempt(failures: list[Failure], deliver: Callable[[], object]) -> None:
    try:
        deliver()
    except BadTarget:
        raise
    except SideError as error:
        failures.append(failure_of(error))


def _program(jax: Side) -> Program:
    """The program of the forward pass.

    Raises:
      RequestError: it draws random numbers, for which a judged program has a hash of their places.
    """
    program = requests.program(jax, FORWARD, FLOAT32)
    if _HASHES in program.artifact:
        raise RequestError(
            "expected a forward pass that draws no random numbers, found one that does: what jaxport exports would "
            "have the same numbers in every call; make the numbers an input of the model"
        )
    return replace(program, artifact=portable(program.artifact))


def _example(jax: Side, instance: Prepared) -> Arrays:
    """The results of the first case."""
    return requests.outputs(jax, "jit", FORWARD, instance.loading.cases[0], FLOAT32)


def _save_model(tf: Side, program: Program, folder: Path, cache: Path, executables: list[ExecutableSize]) -> None:
    handle = requests.compile_program(tf, program).handle
    compiled = [file.stat().st_size for file in cache.iterdir()]
    executables.append(_executable_size(tf, handle, compiled[0] if len(compiled) == 1 else None))
    requests.save_model(tf, handle, folder)


def _write_program(folder: Path, instance: Prepared, program: Program, results: Arrays) -> None:
    twin, case = mapped_twin(instance), instance.loading.cases[0]
    arrays = {
        f"{parameter.kind}/{parameter.name}": twin.argument(parameter, case, program.states)
        for parameter in program.parameters
    }
    inputs = {name: array for name, array in arrays.items() if name.startswith("input/")}
    example = inputs | {f"result/{result.name}": results[result.name] for result in program.results}
    write_atomically(folder / PROGRAM, program.artifact)
    write_atomically(folder / WEIGHTS, npz({name: array for name, array in arrays.items() if name not in inputs}))
    write_atomically(folder / EXAMPLE, npz(example))


def _write(folder: Path, environment: Mapping[str, Scalar], instance: Prepared, program: Program) -> None:
    """Write the index of the folder, for the runner and for people."""
    index = {
        "format": FORMAT,
        "workload": instance.workload.name,
        "size": instance.size,
        "made_with": {name: environment[name] for name in ("jax", "jaxlib") if name in environment},
        "parameters": [vars(parameter) for parameter in program.parameters],
        "results": [vars(result) for result in program.results],
    }
    write_atomically(folder / INDEX, json.dumps(index, indent=1) + "\n")
    write_atomically(folder / RUNNER, RUNNER_SOURCE.read_text())
    names = [f"{parameter.kind}/{parameter.name}" for parameter in program.parameters]
    names += [f"result/{result.name}" for result in program.results]
    write_atomically(folder / ORDER, "".join(f"{name}\n" for name in names))
    for source in sorted(RUNNERS_IN_CPP.iterdir()):
        write_atomically(folder / source.name, source.read_text())


def npz(arrays: Arrays) -> bytes:
    """Arrays as a file that `numpy.load` reads without pickle; a type that NumPy lacks follows the name, after "::".

    They are stored in row-major order, as the runners in C++ read them.
    """
    by_name = dict(_plain(name, np.asarray(array, order="C")) for name, array in arrays.items())
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **by_name)
    return file.getvalue()


def _plain(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    if array.dtype.isbuiltin == 1:
        return name, array
    return f"{name}::{array.dtype}", array.view(f"V{array.dtype.itemsize}")
