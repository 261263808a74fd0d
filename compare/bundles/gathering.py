"""Collects a bug report from live sides: everything that another person needs to reproduce a workload."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from compare.bundles import bundle, readme
from compare.bundles.distance import difference
from compare.files import Json
from compare.hlo import bindings
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.portable import portable
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_one
from compare.inputs.sizes import choose_size
from compare.plain_json import to_json
from compare.progress import Reporter
from compare.prove.collect import FLOAT32, unique
from compare.prove.on_targets import CELLS as ON_TARGET
from compare.prove.on_targets import compile_for_all
from compare.record.target_part import Target
from compare.record.vocabulary import CELLS
from compare.record.workload_part import Failure
from compare.run import record_parts
from compare.sides import mapped, requests, wire
from compare.sides._side import SIDES, BadTarget, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.device_worker import Targets
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet, failure_of
from compare.writing import write_atomically
from workloads.core.declared import AnyWorkload
from workloads.core.modes import JAX, TF, parse_cell
from workloads.core.spec import Arrays
from workloads.protocol.framework import Program, Twin, default_pass

FLAGS = (
    *("XLA_FLAGS", "TF_XLA_FLAGS", "TF_ENABLE_ONEDNN_OPTS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
    *("JAX_ENABLE_X64", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_PLATFORMS", "JAX_DISABLE_JIT", "KERAS_BACKEND"),
)
"""The environment variables that a bug report includes, and no others."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Request:
    """The subject of a report, the interpreter of each side, and devices that both programs are also compiled for."""

    workload: AnyWorkload
    size: str | None = None
    data: Path | None = None
    pythons: Mapping[str, str | None] = field(default_factory=dict)
    timeout_s: float = 300
    targets: Targets | None = None


def collect(request: Request, folder: Path, scratch: Path, reporter: Reporter) -> Json:
    """Fill a folder with the bug report and return what bundle.json says; a side that fails costs its own part.

    Args:
      folder: an empty folder for the report.

    Raises:
      BadTarget: the function that was named does not exist.
      RequestError: the workload has no such size.
    """
    workload = request.workload
    size = choose_size(workload, request.size)
    instance = prepare_one(workload, size, request.data, scratch)
    reporter.stage(f"{workload.name}: bug report", 2 * len(SIDES) + len(CELLS))
    for name in ("programs", "optimized", "inputs", "outputs", "dumps", "clustering"):
        (folder / name).mkdir()
    with _Workers(request, instance, folder, scratch) as workers:
        report = _Report(instance, folder, workers, reporter)
        for side in SIDES:
            report.add_program(side)
        for side in SIDES:
            report.add_modes(side)
        for cell in CELLS:
            report.add_cell(cell)
        if request.targets is not None:
            report.add_targets(request.targets)
        sides = {side: workers.ask(side, requests.environment) or {} for side in SIDES}
    index = {
        **report.index(),
        "environment": to_json(record_parts.environment(sides)) | {"flags": flags(os.environ)},
        "failures": to_json(unique(workers.failures)),
    }
    bundle.save_index(index, folder)
    readme.save(bundle.without_folders(index), folder)
    return index


def flags(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that change what either framework compiles or runs."""
    return {name: environment[name] for name in FLAGS if name in environment}


def mapped_twin(instance: Prepared) -> Twin:
    """Map the arrays of a workload, as a worker does."""
    loading = instance.loading
    parameters = {"target": "", "builds": loading.builds, "dimensions": loading.dimensions}
    parameters |= {"cases": loading.cases, "inputs": loading.inputs}
    return wire.unpack_twin(parameters, mapped.load(loading.arrays))


class _Workers:
    """One worker for each side, with the workload loaded, which dumps the programs that it compiles."""

    def __init__(self, request: Request, instance: Prepared, folder: Path, scratch: Path) -> None:
        self._request, self._instance, self._folder, self._scratch = request, instance, folder.resolve(), scratch
        self._workers = WorkerSet(self._start, self._load)
        self.modes: dict[str, requests.Modes] = {}
        self.failures: list[Failure] = []

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    def ask(self, name: str, ask: Callable[[Side], Answer]) -> Answer | None:
        """A reply of a side that has the workload loaded; None with the reason noted.

        Raises:
          BadTarget: the function that was named does not exist.
        """
        try:
            return ask(self._workers.get(name))
        except BadTarget:
            raise
        except SideError as error:
            self.failures.append(failure_of(error))
            return None

    def _start(self, name: str) -> LiveSide:
        dump, clustering = self._folder / "dumps" / name, self._folder / "clustering"
        settings = Settings(dump=dump, clustering=clustering)
        return LiveSide(name, self._scratch, self._request.pythons.get(name), self._request.timeout_s, settings)

    def _load(self, side: Side) -> None:
        self.modes[side.name] = requests.load(side, self._instance.loading)


class _Report:
    """Writes what sides deliver, and lists it."""

    def __init__(self, instance: Prepared, folder: Path, workers: _Workers, reporter: Reporter) -> None:
        self._instance, self._folder, self._workers, self._reporter = instance, folder, workers, reporter
        self._case = instance.loading.cases[0]
        self._programs: dict[str, Program] = {}
        self._outputs: dict[str, Arrays] = {}
        self._cells: dict[str, Any] = {}
        self._modes: dict[str, str] = {}
        self._targets: dict[str, Target] = {}

    def add_program(self, side: str) -> None:
        """The main pass as the side hands it to XLA, as text, and the arrays that it is called with."""
        self._reporter.step(f"{side} program")
        program = self._workers.ask(side, lambda worker: requests.program(worker, self._main(side), FLOAT32))
        if program is None:
            return
        try:
            program = dataclasses.replace(program, artifact=portable(program.artifact))
        except UnreadableProgram as error:
            self._workers.failures.append(Failure(side, "read program", str(error)))
            return
        self._programs[side] = program
        write_atomically(self._folder / "programs" / f"{side}.mlirbc", program.artifact)
        write_atomically(self._folder / "programs" / f"{side}.mlir", f"{bindings.parse(program.artifact)}\n")
        twin = mapped_twin(self._instance)
        arguments = [twin.argument(parameter, self._case, program.states) for parameter in program.parameters]
        bundle.save_arrays(arguments, self._folder / "inputs" / f"{side}.safetensors")

    def add_modes(self, side: str) -> None:
        """Add the side's results in each of its modes; autoclustering dumps its graphs meanwhile."""
        self._reporter.step(f"{side} modes")
        for mode in self._workers.modes.get(side, {}).get(self._main(side), ()):
            outputs = self._workers.ask(
                side, lambda worker, m=mode: requests.outputs(worker, m, self._main(side), self._case, FLOAT32)
            )
            if outputs is not None:
                self._modes[f"{side}/{mode}"] = f"outputs/{side}-{mode}.safetensors"
                wire.save_arrays(outputs, self._folder / self._modes[f"{side}/{mode}"])

    def add_cell(self, cell: str) -> None:
        """One side's program compiled and run by one side's XLA."""
        self._reporter.step(cell)
        frontend, compiler = parse_cell(cell).frontend, parse_cell(cell).compiler
        program = self._programs.get(frontend)
        if program is None:
            self._cells[cell] = {"reason": f"no program from the {frontend} side"}
            return
        before = len(self._workers.failures)
        program_built = self._workers.ask(compiler, lambda side: requests.compile_program(side, program))
        module = program_built and self._workers.ask(
            compiler, lambda side: requests.optimized(side, program_built.handle)
        )
        if program_built and module:
            write_atomically(self._folder / "optimized" / f"{cell}.hlo.pb", module.module)
            write_atomically(self._folder / "optimized" / f"{cell}.txt", bindings.hlo_text(module.module))
            self._cells[cell] = {"temp_bytes": module.temp_bytes, "compile_s": program_built.compile_s}
            # Only of a worker that is still there: the next one knows nothing of this program.
            outputs = self._workers.ask(compiler, lambda side: requests.execute(side, program_built.handle, self._case))
            if outputs is not None:
                self._outputs[cell] = outputs
                values = [outputs[result.name] for result in program.results]
                bundle.save_arrays(values, self._folder / "outputs" / f"{cell}.safetensors")
        for failure in self._workers.failures[before:]:
            self._cells[cell] = self._cells.get(cell, {}) | {"reason": failure.reason}

    def add_targets(self, targets: Targets) -> None:
        """Both programs compiled for every device by JAX's XLA, with what it dumped of them for a GPU."""
        self._reporter.stage(f"{self._instance.workload.name}: targets", len(targets.devices))
        sides = {side: self._workers.ask(side, lambda worker: worker) for side in SIDES}
        live = {side: worker for side, worker in sides.items() if worker is not None}
        if len(live) < len(SIDES):
            return
        folder = self._folder / "targets"
        results = compile_for_all(targets, live, self._main(TF), folder, self._reporter)
        for name, target in results.items():
            self._targets[name] = target.part
            for side, cell in ((TF, target.part.tf), (JAX, target.part.jax)):
                if cell and cell.reason:
                    self._workers.failures.append(Failure(side, f"compile for {name}", cell.reason))
            for side, module in target.modules.items():
                stem = folder / name.replace(":", "-") / ON_TARGET[side]
                write_atomically(stem.with_suffix(".hlo.pb"), module.module.hlo)
                write_atomically(stem.with_suffix(".txt"), bindings.hlo_text(module.module.hlo))

    def index(self) -> Json:
        """Everything that was written, and what differs."""
        return {
            "schema": bundle.SCHEMA,
            "workload": self._instance.workload.name,
            "summary": self._instance.workload.summary,
            "size": self._instance.size,
            "dimensions": dict(self._instance.dimensions),
            "pass": {side: self._main(side) for side in self._programs},
            "python": platform.python_version(),
            "modules": [*map(self._program, self._programs), *self._optimized_modules()],
            "cells": self._cells,
            "modes": self._modes,
            "targets": to_json(self._targets),
            "clustering": sorted(path.name for path in (self._folder / "clustering").iterdir()),
            "differences": self._differences(),
        }

    def _main(self, side: str) -> str:
        return default_pass(self._workers.modes.get(side, {}))

    def _program(self, side: str) -> Json:
        cells = sorted(
            (cell for cell in self._outputs if parse_cell(cell).frontend == side),
            key=lambda cell: parse_cell(cell).compiler != side,
        )
        entry = self._entry(side, bundle.PROGRAM, f"programs/{side}.mlirbc", f"programs/{side}.mlir", side, cells)
        return {**entry, "sources": dict(self._programs[side].sources)}

    def _optimized_modules(self) -> list[Json]:
        return [
            self._entry(
                cell, bundle.OPTIMIZED, f"optimized/{cell}.hlo.pb", f"optimized/{cell}.txt", parse_cell(cell).frontend,
                [cell] if cell in self._outputs else [],
            )
            for cell in CELLS
            if (self._folder / "optimized" / f"{cell}.hlo.pb").is_file()
        ]  # fmt: skip

    def _entry(self, name: str, kind: str, file: str, text: str, side: str, cells: list[str]) -> Json:
        program = self._programs[side]
        return {
            "name": name,
            "kind": kind,
            "file": file,
            "text": text,
            "parameters": [vars(parameter) for parameter in program.parameters],
            "results": [vars(result) for result in program.results],
            "inputs": f"inputs/{side}.safetensors",
            "outputs": {cell: f"outputs/{cell}.safetensors" for cell in cells},
        }

    def _differences(self) -> list[Json]:
        """Each cell against TensorFlow's program in TensorFlow's XLA, over the results that both name alike."""
        reference = self._outputs.get("tf@tf", {})
        return [
            {"cell": cell, "result": name, **dataclasses.asdict(far), "agrees": far.agrees}
            for cell, outputs in self._outputs.items()
            for name in sorted(outputs.keys() & reference.keys())
            if cell != "tf@tf" and (far := difference(outputs[name], reference[name]))
        ]
