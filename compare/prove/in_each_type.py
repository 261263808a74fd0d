"""A function in one data type after another: both sides run every mode, and each is compared with float64."""

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
from compare.prove.typed_reference import X64, Reference, collect_from, find_reference
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
from workloads.core.modes import JAX, TF, parse_mode
from workloads.core.spec import Arrays, Workload
from workloads.protocol.framework import FORWARD

OF_64_BITS = ("float64", "int64", "uint64", "complex128")
MODES = {TF: ("eager", "graph", "autocluster", "jit"), JAX: ("eager", "jit")}


@dataclass(frozen=True)
class Asking:
    """The workers to ask: one of TensorFlow and two of JAX, with and without 64 bits."""

    workers: WorkerSet
    scratch: Path
    reporter: Reporter


def workers(pythons: Mapping[str, str | None], timeout_s: float, scratch: Path) -> WorkerSet:
    """The workers, each started at its first use.

    Args:
      pythons: by side, its interpreter; None is this one.
      timeout_s: how long a request may take.
    """

    def start(name: str) -> LiveSide:
        side = TF if name == TF else JAX
        x64 = None if name == TF else name == X64
        return LiveSide(side, scratch, pythons.get(side), timeout_s, Settings(x64=x64))

    return WorkerSet(start)


def survey(instance: Prepared, dtypes: Sequence[str], asking: Asking) -> TypedFunction:
    """One function in every type.

    Args:
      dtypes: by NumPy's or ml_dtypes' names.

    Raises:
      RequestError: it is no function of arrays alone, or one side has no mode that runs as its inputs are written.
      BadTarget: it does not exist.
    """
    names = casting.cast_names(instance)
    _check_runs(instance, asking)
    title = instance.workload.name
    asking.reporter.stage(f"{title}: {len(dtypes)} types", len(dtypes))
    rows: list[TypedRow] = []
    for dtype in dtypes:
        asking.reporter.step(f"{title} in {dtype}")
        rows.append(_row(casting.cast(instance, dtype), dtype, asking))
    elements = max(int(np.prod(instance.inputs[name].shape)) for name in names)
    return TypedFunction(title, names, elements, tuple(rows))


def _check_runs(instance: Prepared, asking: Asking) -> None:
    """Raise RequestError where no mode of a side runs the inputs as written: that is no refusal of a type."""
    of_64_bits = any(spec.dtype in OF_64_BITS for spec in instance.inputs.values())
    for side, name in ((TF, TF), (JAX, X64 if of_64_bits else JAX)):
        reason = _why_none_runs(asking, name, instance)
        if reason:
            title = instance.workload.name
            raise RequestError(
                f"expected {title} to run as its inputs are written, found that no mode of {side} does: {reason}"
            )


def _why_none_runs(asking: Asking, name: str, instance: Prepared) -> str:
    """Why no mode runs; empty where one does."""
    reason = "it has no mode"
    try:
        worker = asking.workers.get(name)
        for mode in requests.load(worker, instance.loading).get(FORWARD, ()):
            reason = _why_not(worker, mode, instance)
            if not reason:
                return ""
    except BadTarget:
        raise
    except SideError as error:
        return error.reason
    return reason


def _why_not(worker: Side, mode: str, instance: Prepared) -> str:
    try:
        requests.outputs(worker, mode, FORWARD, instance.loading.cases[0], FLOAT32)
    except SideError as error:
        if error.lost:
            raise
        return error.reason
    return ""


def _row(workload: Workload, dtype: str, asking: Asking) -> TypedRow:
    folder = asking.scratch / f"{workload.name}-{dtype}"
    folder.mkdir(parents=True)
    instance = at_size.prepare(workload, "cast", None, folder)
    port = X64 if dtype in OF_64_BITS else JAX
    deliveries = {name: collect_from(asking.workers, name, instance) for name in (TF, port)}
    reference = find_reference(asking.workers, instance, dtype, deliveries[TF], deliveries[port], port)
    verdicts = _judge(reference, reference.evidence, dtype)
    modes = [_mode(TF, name, deliveries[TF], verdicts) for name in MODES[TF]]
    modes += [_mode(JAX, name, deliveries[port], verdicts) for name in MODES[JAX]]
    programs = [_program(asking, TF, deliveries[TF]), _program(asking, port, deliveries[port])]
    if dtype in OF_64_BITS:
        narrow = collect_from(asking.workers, JAX, instance)
        outputs = _beside(reference.evidence, narrow)
        without = _judge(reference, dataclasses.replace(reference.evidence, outputs=outputs), dtype)
        modes += [replace(_mode(JAX, name, narrow, without), without_x64=True) for name in MODES[JAX]]
        programs.append(replace(_program(asking, JAX, narrow), without_x64=True))
    return TypedRow(dtype, reference.told, reference.stand_in, tuple(modes), tuple(programs))


def _judge(reference: Reference, evidence: Evidence, dtype: str) -> dict[str, TypedMode]:
    verdicts = type_verdicts.judge_modes(evidence, dtype, bool(reference.stand_in), reference.missing)
    if reference.stand_in:
        del verdicts[TF_REFERENCE]
    return verdicts


def _beside(evidence: Evidence, narrow: Collected) -> dict[tuple[str, str, str], Arrays]:
    outputs = {key: arrays for key, arrays in evidence.outputs.items() if parse_mode(key[0]).side != JAX}
    return outputs | narrow.outputs


def _mode(side: str, name: str, delivery: Collected, verdicts: Mapping[str, TypedMode]) -> TypedMode:
    """The verdict on one mode, or the reason why it has none: its refusal, or that its worker was lost."""
    mode = f"{side}/{name}"
    if mode in verdicts:
        return verdicts[mode]
    loss = delivery.failures[-1] if delivery.lost else None
    others = [failure for failure in (*delivery.failures, *delivery.refusals) if failure is not loss]
    own = [failure for failure in others if (failure.mode, failure.of_pass) == (name, FORWARD)]
    if loss is not None and not own:
        return TypedMode(mode=mode, status=LOST, reason=loss.reason)
    reasons = [failure.reason or "" for failure in own or others] or ["no reason was given"]
    return TypedMode(mode=mode, status=REFUSED, reason=reasons[0])


def _program(asking: Asking, name: str, delivery: Collected) -> TypedProgram:
    """The types in the program and in the module that a side's XLA compiles from it."""
    side, program = delivery.side, delivery.programs.get((FORWARD, FLOAT32))
    if program is None or delivery.lost:
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
    """Function, type and mode of each verdict that is wrong numbers, a wrong type, or a lost worker."""
    for function in functions:
        for row in function.rows:
            for mode in row.modes:
                failing = mode.status in type_verdicts.FAILING and not mode.without_x64
                if failing or mode.status == LOST:
                    yield function.name, row.dtype, mode


def without_verdict(functions: Sequence[TypedFunction]) -> Iterator[str]:
    """The names of functions whose port was judged in no mode and no type.

    TensorFlow's compiled modes that hold against its eager mode say nothing of a port. Without a port they are all.
    """
    for function in functions:
        modes = [mode for row in function.rows for mode in row.modes if not mode.without_x64]
        of_port = [mode for mode in modes if mode.mode.startswith(f"{JAX}/")]
        statuses = {mode.status for mode in of_port or modes}
        if not statuses & {HOLDS, *type_verdicts.FAILING, LOST}:
            yield function.name
