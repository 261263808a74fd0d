"""A port as what runs without its framework being traced: StableHLO with a runner, jax.export's form, a SavedModel."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from compare.bundles.gathering import Request, mapped_twin
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
from compare.sides.workers import WorkerSet, failure_of
from compare.writing import write_atomically
from workloads._framework import FORWARD, Program
from workloads._modes import JAX, TF
from workloads._spec import Arrays

FORMAT = 1
INDEX, PROGRAM, WEIGHTS, EXAMPLE = "export.json", "program.mlirbc", "weights.npz", "example.npz"
EXPORTED, SAVED_MODEL, RUNNER = "program.jax_export", "saved_model", "run.py"
RUNNER_SOURCE = Path(__file__).with_name("run_exported.py")
"""Copied as it stands: nothing here imports it, since it starts XLA in its own process."""


def export(request: Request, folder: Path, scratch: Path, reporter: Reporter) -> list[Failure]:
    """Fill a folder with a port's forward pass; what could not be delivered.

    Args:
      request: what to export; its targets are not asked for.
      folder: an empty folder.
      scratch: a folder for what is needed meanwhile.
      reporter: told of every step.

    Raises:
      BadTarget: the function that was named does not exist.
      RequestError: the workload has no such size.
      SideError: JAX cannot deliver the program: there is nothing to export.
      UnreadableProgram: what it delivered is not StableHLO that every XLA reads.
    """
    workload = request.workload
    prepared = prepare_one(workload, choose_size(workload, request.size), request.data, scratch)
    reporter.stage(f"{workload.name}: export", 2)
    failures: list[Failure] = []
    with WorkerSet(_starting(request, scratch), lambda side: _load(side, prepared)) as workers:
        reporter.step(JAX)
        jax = workers.get(JAX)
        program = _program(jax)
        _write_program(folder, prepared, program, _example(jax, prepared))
        _write(folder, requests.environment(jax), prepared, program)
        _attempt(failures, lambda: write_atomically(folder / EXPORTED, requests.serialized(jax, FORWARD)))
        reporter.step(TF)
        _attempt(failures, lambda: _save_model(workers.get(TF), program, folder / SAVED_MODEL))
    return failures


def _starting(request: Request, scratch: Path) -> Callable[[str], LiveSide]:
    return lambda name: LiveSide(name, scratch, request.pythons.get(name), request.timeout_s)


def _load(side: Side, prepared: Prepared) -> None:
    requests.load(side, prepared.loading)


def _attempt(failures: list[Failure], deliver: Callable[[], object]) -> None:
    try:
        deliver()
    except BadTarget:
        raise
    except SideError as error:
        failures.append(failure_of(error))


def _program(jax: Side) -> Program:
    program = requests.program(jax, FORWARD, FLOAT32)
    return replace(program, artifact=portable(program.artifact))


def _example(jax: Side, prepared: Prepared) -> Arrays:
    """The results of the first case."""
    return requests.outputs(jax, "jit", FORWARD, prepared.loading.cases[0], FLOAT32)


def _save_model(tf: Side, program: Program, folder: Path) -> None:
    requests.save_model(tf, requests.compile_program(tf, program).handle, folder)


def _write_program(folder: Path, prepared: Prepared, program: Program, results: Arrays) -> None:
    twin, case = mapped_twin(prepared), prepared.loading.cases[0]
    held = {f"{each.kind}/{each.name}": twin.argument(each, case, program.states) for each in program.parameters}
    inputs = {name: array for name, array in held.items() if name.startswith("input/")}
    example = inputs | {f"result/{each.name}": results[each.name] for each in program.results}
    write_atomically(folder / PROGRAM, program.artifact)
    write_atomically(folder / WEIGHTS, npz({name: array for name, array in held.items() if name not in inputs}))
    write_atomically(folder / EXAMPLE, npz(example))


def _write(folder: Path, environment: Mapping[str, Any], prepared: Prepared, program: Program) -> None:
    """What the folder holds, for the runner and for people."""
    index = {
        "format": FORMAT,
        "workload": prepared.workload.name,
        "size": prepared.size,
        "made_with": {name: environment[name] for name in ("jax", "jaxlib") if name in environment},
        "parameters": [vars(each) for each in program.parameters],
        "results": [vars(each) for each in program.results],
    }
    write_atomically(folder / INDEX, json.dumps(index, indent=1) + "\n")
    write_atomically(folder / RUNNER, RUNNER_SOURCE.read_text())


def npz(arrays: Arrays) -> bytes:
    """Arrays as a file that `numpy.load` reads without pickle; a type that NumPy lacks follows the name, after "::"."""
    named = {f"{name}::{array.dtype}" if array.dtype.kind == "V" else name: array for name, array in arrays.items()}
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **named)
    return file.getvalue()
