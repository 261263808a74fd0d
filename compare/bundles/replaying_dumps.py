"""Every module of a dump directory alone: read, compiled, run on drawn inputs, and compared with its optimized form."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes as ml_dtypes  # NumPy knows bfloat16 once it is imported
import numpy as np

from compare.bundles.bundle import INDEX
from compare.bundles.distance import Difference, difference
from compare.bundles.replaying import TRIVIAL, random_inputs
from compare.hlo import artifacts, bindings, executing, numbering, standalone
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import directory
from compare.hlo.dumps.directory import DumpedModule
from compare.hlo.dumps.dumped_programs import stage_file
from compare.hlo.dumps.grammar import AFTER, BEFORE, STAGE
from compare.hlo.levels import STRUCTURE, Subject, at_level
from compare.hlo.standalone import Signature
from compare.parity import measure
from compare.progress import Reporter
from compare.record.envelope import SCHEMA
from compare.record.replay_part import ReplayedDump, ReplayedModule
from workloads.core.foreign import MEBIBYTE

MOST_INPUT_BYTES = 2048 * MEBIBYTE
"""Bytes of one module's arguments: they are in this process and in the worker at once."""


class _Fails(Exception):
    """The step at which a module fails, in one line."""


@dataclass
class _Found:
    """The facts about a module so far, by the names of ReplayedModule."""

    fields: dict[str, Any] = field(default_factory=dict)


def is_dump(path: Path) -> bool:
    """Whether a path is a directory of dumped modules, and no bug report."""
    if not os.path.isdir(path) or (path / INDEX).exists():
        return False
    try:
        return any(module.of(STAGE) for module in directory.modules(path))
    except UnreadableProgram:
        return False


def replay_dump(path: Path, seed: int, tolerance: float | None, reporter: Reporter) -> ReplayedDump:
    """Run every module of a dump directory, one after the other; what fails or ends its process costs its own row.

    Args:
      tolerance: of floats, relative to the largest value; None is that of the dtype.

    Raises:
      UnreadableProgram: the directory is not there, or holds no module.
    """
    modules = directory.modules(path)
    reporter.stage(f"{path}: replay", len(modules))
    # The worker is there before the first module is timed.
    executing.compile_bytecode(bindings.artifact(TRIVIAL))
    rows = []
    for module in modules:
        reporter.step(f"{module.number} {module.function}")
        rows.append(_replay_module(module, seed, tolerance))
    return ReplayedDump(schema=SCHEMA, directory=str(path), seed=seed, modules=tuple(rows))


def _replay_module(module: DumpedModule, seed: int, tolerance: float | None) -> ReplayedModule:
    findings = _Found({"number": module.number, "name": module.name, "function": module.function})
    findings.fields["framework"] = module.origin.framework
    try:
        _replay(module, seed, tolerance, findings)
    except (_Fails, UnreadableProgram, RuntimeError) as error:
        # The last is what XLA's parser of text raises before jaxlib has registered its own error.
        findings.fields["failure"] = str(error)
    return ReplayedModule(**findings.fields)


def _replay(module: DumpedModule, seed: int, tolerance: float | None, findings: _Found) -> None:
    stage, data = _read(module)
    artifact = standalone.artifact_of_file(data)
    findings.fields |= {"stage": stage, "read_back": reads_back(data, artifact)}
    arrays = _inputs(standalone.signature(artifact), seed)
    with _note_time(findings, "compile_s"):
        program = executing.compile_bytecode(artifact)
    with _note_time(findings, "run_s"):
        results = program(arrays)
    findings.fields |= {"results": len(results), "not_finite": sum(map(_not_finite, results))}
    if stage == BEFORE:
        _hold_optimized(module, arrays, (results, program(arrays)), tolerance, findings)
    if not findings.fields["read_back"]:
        raise _Fails("written as StableHLO and read back, it computes other values")


def _read(module: DumpedModule) -> tuple[str, bytes]:
    """The stage that is run, and its HLO: before optimization, else after."""
    try:
        return BEFORE, stage_file(module, BEFORE).data()
    except UnreadableProgram:
        return AFTER, stage_file(module, AFTER).data()


def reads_back(data: bytes, artifact: bytes) -> bool:
    """Whether an artifact computes the values that the HLO computes which it was made from.

    Raises:
      UnreadableProgram: either cannot be read.
    """
    return _values(artifacts.hlo_of_file(data)) == _values(artifacts.hlo_of_artifact(artifact))


def _values(hlo: bytes) -> list[bytes]:
    graph = at_level(Subject("", hlo), STRUCTURE).graph
    digests = numbering.digests(graph)
    return [digests[key] for key in graph.results]


def _inputs(signature: Signature, seed: int) -> list[np.ndarray]:
    size = sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in signature.parameters)
    if size > MOST_INPUT_BYTES:
        raise _Fails(f"expected inputs of up to {MOST_INPUT_BYTES} bytes, found {size}: replay its file by itself")
    return random_inputs(signature, seed)


@contextmanager
def _note_time(findings: _Found, name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    findings.fields[name] = time.perf_counter() - start


def _not_finite(array: np.ndarray) -> bool:
    return measure.is_float(array) and not np.isfinite(array.astype(np.float64)).all()


def _hold_optimized(
    module: DumpedModule,
    arrays: Sequence[np.ndarray],
    calls: Sequence[Sequence[np.ndarray]],
    tolerance: float | None,
    findings: _Found,
) -> None:
    """Run what XLA made of the module when it was dumped, on the same inputs, and compare.

    Args:
      calls: results of two calls of what was dumped before optimization.
      tolerance: of floats, relative to the largest value.

    Raises:
      _Fails: the results differ.
    """
    results, again = calls
    if any(one.tobytes() != other.tobytes() for one, other in zip(results, again, strict=True)):
        findings.fields["not_compared"] = "its results differ from call to call"
        return
    try:
        optimized_results = executing.compile_bytecode(standalone.artifact_of_file(stage_file(module, AFTER).data()))(
            arrays
        )
    except UnreadableProgram as error:
        findings.fields["not_compared"] = str(error)
        return
    if len(optimized_results) != len(results):
        raise _Fails(f"expected {len(results)} results of the optimized module, found {len(optimized_results)}")
    differences = [difference(one, other, tolerance) for one, other in zip(optimized_results, results, strict=True)]
    worst = max((distance.relative for distance in differences), default=0.0)
    agrees = all(map(_agrees, differences))
    findings.fields |= {"optimized_error": worst, "optimized_agrees": agrees}
    if not agrees:
        raise _Fails(f"the optimized module of the dump gives other results: by {worst:.2g} of the largest value")


def _agrees(distance: Difference) -> bool:
    return distance.agrees
