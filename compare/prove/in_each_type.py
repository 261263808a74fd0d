"""A function in one data type after another: both sides asked in every mode, each held against the float64 result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from compare.errors import RequestError
from compare.hlo.arithmetic_types import arithmetic_types, asked_types
from compare.hlo.bindings import UnreadableProgram
from compare.inputs import at_size
from compare.inputs.at_size import Prepared
from compare.parity import type_verdicts
from compare.parity.evidence import TF_REFERENCE, Evidence
from compare.progress import Reporter
from compare.prove import casting
from compare.prove.collect import FLOAT32, Collected
from compare.prove.typed_reference import X64, Reference, collected_from, find_reference
from compare.record.datatypes_part import (
    HOLDS,
    LOST,
    REFUSED,
    TypedFunction,
    TypedMode,
    TypedProgram,
    TypedRow,
)
from compare.sides import requests
from compare.sides._side import BadTarget, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet
from workloads._framework import FORWARD
from workloads._modes import JAX, TF, parse_mode
from workloads._spec import Arrays, Workload

OF_64_BITS = ("float64", "int64", "uint64", "complex128")
MODES = {TF: ("eager", "graph", "autocluster", "jit"), JAX: ("eager", "jit")}


@dataclass(frozen=True)
class Asking:
    """Who is asked: one worker of TensorFlow and two of JAX, with and without 64 bits."""

    workers: WorkerSet
    scratch: Path
    reporter: Reporter


def workers(pythons: Mapping[str, str | None], timeout_s: float, scratch: Path) -> WorkerSet:
    """The workers, started when they are first asked for.

    Args:
      pythons: by side, its interpreter; None is this one.
      timeout_s: how long a request may take.
      scratch: a folder for arrays in transit.
    """

    def start(name: str) -> LiveSide:
        side = TF if name == TF else JAX
        x64 = None if name == TF else name == X64
        return LiveSide(side, scratch, pythons.get(side), timeout_s, Settings(x64=x64))

    return WorkerSet(start)


def survey(prepared: Prepared, dtypes: Sequence[str], asking: Asking) -> TypedFunction:
    """One function in every type.

    Args:
      prepared: the function at a size.
      dtypes: by NumPy's or ml_dtypes' names.
      asking: the workers to ask.

    Raises:
      RequestError: it is no function of arrays alone, or one side has no mode that runs as its inputs are written.
      BadTarget: it does not exist.
    """
    names = casting.cast_names(prepared)
    _check_runs(prepared, asking)
    title = prepared.workload.name
    asking.reporter.stage(f"{title}: {len(dtypes)} types", len(dtypes))
    rows: list[TypedRow] = []
    for dtype in dtypes:
        asking.reporter.step(f"{title} in {dtype}")
        rows.append(_row(casting.cast(prepared, dtype), dtype, asking))
    elements = max(int(np.prod(prepared.inputs[name].shape)) for name in names)
    return TypedFunction(title, names, elements, tuple(rows))


def _check_runs(prepared: Prepared, asking: Asking) -> None:
    """Raise RequestError where a side runs in no mode as the inputs are written: that is no refusal of a type."""
    of_64_bits = any(spec.dtype in OF_64_BITS for spec in prepared.inputs.values())
    for side, name in ((TF, TF), (JAX, X64 if of_64_bits else JAX)):
        reason = _why_none_runs(asking, name, prepared)
        if reason:
            title = prepared.workload.name
            raise RequestError(
                f"expected {title} to run as its inputs are written, found that no mode of {side} does: {reason}"
            )


def _why_none_runs(asking: Asking, name: str, prepared: Prepared) -> str:
    """Why no mode runs; empty where one does."""
    reason = "it has no mode"
    try:
        worker = asking.workers.get(name)
        for mode in requests.load(worker, prepared.loading).get(FORWARD, ()):
            reason = _why_not(worker, mode, prepared)
            if not reason:
                return ""
    except BadTarget:
        raise
    except SideError as error:
        return error.reason
    return reason


def _why_not(worker: Side, mode: str, prepared: Prepared) -> str:
    try:
        requests.outputs(worker, mode, FORWARD, prepared.loading.cases[0], FLOAT32)
    except SideError as error:
        if error.lost:
            raise
        return error.reason
    return ""


def _row(workload: Workload, dtype: str, asking: Asking) -> TypedRow:
    folder = asking.scratch / f"{workload.name}-{dtype}"
    folder.mkdir(parents=True)
    prepared = at_size.prepare(workload, "cast", None, folder)
    port = X64 if dtype in OF_64_BITS else JAX
    collected = {name: collected_from(asking.workers, name, prepared) for name in (TF, port)}
    reference = find_reference(asking.workers, prepared, dtype, collected[TF], collected[port], port)
    judged = _judged(reference, reference.evidence, dtype)
    modes = [_mode(TF, name, collected[TF], judged) for name in MODES[TF]]
    modes += [_mode(JAX, name, collected[port], judged) for name in MODES[JAX]]
    programs = [_program(asking, TF, collected[TF]), _program(asking, port, collected[port])]
    if dtype in OF_64_BITS:
        narrow = collected_from(asking.workers, JAX, prepared)
        outputs = _beside(reference.evidence, narrow)
        without = _judged(reference, dataclasses.replace(reference.evidence, outputs=outputs), dtype)
        modes += [replace(_mode(JAX, name, narrow, without), without_x64=True) for name in MODES[JAX]]
        programs.append(replace(_program(asking, JAX, narrow), without_x64=True))
    return TypedRow(dtype, reference.told, reference.stand_in, tuple(modes), tuple(programs))


def _judged(reference: Reference, evidence: Evidence, dtype: str) -> dict[str, TypedMode]:
    judged = type_verdicts.judge_modes(evidence, dtype, bool(reference.stand_in), reference.missing)
    if reference.stand_in:
        del judged[TF_REFERENCE]
    return judged


def _beside(evidence: Evidence, narrow: Collected) -> dict[tuple[str, str, str], Arrays]:
    kept = {key: arrays for key, arrays in evidence.outputs.items() if parse_mode(key[0]).side != JAX}
    return kept | narrow.outputs


def _mode(side: str, name: str, collected: Collected, judged: Mapping[str, TypedMode]) -> TypedMode:
    """What became of one mode, or why there is nothing of it: its refusal, or that its worker was lost."""
    mode = f"{side}/{name}"
    if mode in judged:
        return judged[mode]
    loss = collected.failures[-1] if collected.lost else None
    said = [failure for failure in (*collected.failures, *collected.refusals) if failure is not loss]
    own = [failure for failure in said if (failure.mode, failure.of_pass) == (name, FORWARD)]
    if loss is not None and not own:
        return TypedMode(mode=mode, status=LOST, reason=loss.reason)
    reasons = [failure.reason or "" for failure in own or said] or ["no reason was given"]
    return TypedMode(mode=mode, status=REFUSED, reason=reasons[0])


def _program(asking: Asking, name: str, collected: Collected) -> TypedProgram:
    """What a side's XLA made of the program."""
    side, program = collected.side, collected.programs.get((FORWARD, FLOAT32))
    if program is None or collected.lost:
        return TypedProgram(side=side, reason="no program")
    parameters = tuple(parameter.dtype for parameter in program.parameters)
    try:
        worker = asking.workers.get(name)
        handle = requests.compile_program(worker, program).handle
        arithmetic = arithmetic_types(requests.optimized(worker, handle).module)
        asks = asked_types(program.artifact)
    except (SideError, UnreadableProgram) as error:
        return TypedProgram(side=side, parameters=parameters, reason=getattr(error, "reason", str(error)))
    return TypedProgram(side, parameters, arithmetic.computes, asks, arithmetic.converts, arithmetic.calls)


def differing(functions: Sequence[TypedFunction]) -> Iterator[tuple[str, str, TypedMode]]:
    """Function, type and mode of everything that gives other numbers or another type than it should, or was lost."""
    for function in functions:
        for row in function.rows:
            for mode in row.modes:
                failing = mode.status in type_verdicts.FAILING and not mode.without_x64
                if failing or mode.status == LOST:
                    yield function.name, row.dtype, mode


def without_verdict(functions: Sequence[TypedFunction]) -> Iterator[str]:
    """The names of functions of which not one mode of the port was judged in any type.

    TensorFlow's compiled modes that hold against its eager mode say nothing of a port. Without a port they are all.
    """
    for function in functions:
        modes = [mode for row in function.rows for mode in row.modes if not mode.without_x64]
        of_port = [mode for mode in modes if mode.mode.startswith(f"{JAX}/")]
        statuses = {mode.status for mode in of_port or modes}
        if not statuses & {HOLDS, *type_verdicts.FAILING, LOST}:
            yield function.name
