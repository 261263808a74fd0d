"""A function in one data type after another: both sides asked in every mode, each held against the float64 result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from compare.hlo.arithmetic_types import arithmetic_types
from compare.hlo.bindings import UnreadableProgram
from compare.inputs import at_size
from compare.inputs.at_size import Prepared
from compare.parity import type_verdicts
from compare.parity.evidence import TF_REFERENCE, Evidence
from compare.progress import Reporter, Silent
from compare.prove import casting
from compare.prove.collect import FLOAT32, FLOAT64, Collected, collect_evidence
from compare.prove.oracle import find_doubles
from compare.record.datatypes_part import REFUSED, WITHOUT_X64, TypedFunction, TypedMode, TypedProgram, TypedRow
from compare.sides import requests
from compare.sides._side import SideError
from compare.sides.client import LiveSide
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet, failure_of
from workloads._framework import FORWARD
from workloads._modes import JAX, TF
from workloads._spec import Arrays, Workload, ends_of, is_float, is_integer

X64 = "jax x64"
"""The worker of JAX that keeps 64 bits; the other has JAX's default."""

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
      asking: who is asked.

    Raises:
      RequestError: it is no function of arrays alone.
      BadTarget: it does not exist.
    """
    names = casting.cast_names(prepared)
    title = prepared.workload.name
    asking.reporter.stage(f"{title}: {len(dtypes)} types", len(dtypes))
    rows: list[TypedRow] = []
    for dtype in dtypes:
        asking.reporter.step(f"{title} in {dtype}")
        rows.append(_row(casting.cast(prepared, dtype), dtype, asking))
    elements = max(int(np.prod(prepared.inputs[name].shape)) for name in names)
    return TypedFunction(title, names, elements, tuple(rows))


def _row(workload: Workload, dtype: str, asking: Asking) -> TypedRow:
    folder = asking.scratch / f"{workload.name}-{dtype}"
    folder.mkdir(parents=True)
    prepared = at_size.prepare(workload, "cast", None, folder)
    port = X64 if dtype in OF_64_BITS else JAX
    collected = {name: _collected(asking, name, prepared) for name in (TF, port)}
    evidence, reference = _evidence(asking, prepared, dtype, collected[TF], collected[port], port)
    judged = type_verdicts.judged(evidence, dtype)
    if not any(mode == TF_REFERENCE for mode, _, _ in collected[TF].outputs):
        judged.pop(TF_REFERENCE, None)  # int64 stood in for it
    modes = [_mode(TF, name, collected[TF], judged) for name in MODES[TF]]
    modes += [_mode(JAX, name, collected[port], judged) for name in MODES[JAX]]
    programs = [_program(asking, TF, collected[TF]), _program(asking, port, collected[port])]
    if dtype in OF_64_BITS:
        narrow = _collected(asking, JAX, prepared)
        without = type_verdicts.judged(dataclasses.replace(evidence, outputs=_beside(evidence, narrow)), dtype)
        modes += [_mode(JAX, name, narrow, without, WITHOUT_X64) for name in MODES[JAX]]
        programs.append(_program(asking, JAX, narrow, WITHOUT_X64))
    return TypedRow(dtype, reference, tuple(modes), tuple(programs))


def _collected(asking: Asking, name: str, prepared: Prepared) -> Collected:
    """What a worker gave; nothing, and why, where it does not come up."""
    try:
        side = asking.workers.get(name)
    except SideError as error:
        return Collected(TF if name == TF else JAX, failures=[failure_of(error)], lost=True)
    return collect_evidence(side, prepared, Silent(), passes=(FORWARD,))


def _beside(evidence: Evidence, narrow: Collected) -> dict[tuple[str, str, str], Arrays]:
    kept = {key: arrays for key, arrays in evidence.outputs.items() if not key[0].startswith(f"{JAX}/")}
    return kept | narrow.outputs


def _mode(side: str, name: str, collected: Collected, judged: Mapping[str, TypedMode], suffix: str = "") -> TypedMode:
    """What became of one mode, or its refusal; a mode of a worker that was lost before has the reason of that."""
    mode = f"{side}/{name}"
    if mode in judged:
        return replace(judged[mode], mode=mode + suffix)
    started = f"outputs {name} {FORWARD} "
    said = [*collected.failures, *collected.refusals]
    own = [failure.reason for failure in said if (failure.doing or "").startswith(started)]
    reasons = own or [failure.reason for failure in said] or ["no reason was given"]
    return TypedMode(mode=mode + suffix, status=REFUSED, reason=reasons[0] or "")


def _evidence(
    asking: Asking, prepared: Prepared, dtype: str, tf: Collected, jax: Collected, port: str
) -> tuple[Evidence, str]:
    outputs = tf.outputs | jax.outputs
    doubles: dict[tuple[str, str, str], Arrays] = {}
    if is_float(dtype):
        doubles, reference = _doubles(asking, prepared, tf, port)
    elif any(mode == TF_REFERENCE for mode, _, _ in outputs):
        reference = "tf/eager, exactly"
    else:
        exact = _exact(asking, prepared, dtype) if is_integer(dtype) else {}
        outputs |= {(TF_REFERENCE, FORWARD, case): arrays for case, arrays in exact.items()}
        reference = "TensorFlow's int64 arithmetic, modulo the type's range" if exact else ""
    failures = (*tf.failures, *tf.refusals, *jax.failures, *jax.refusals)
    evidence = Evidence(
        prepared.title, outputs, doubles, deviations=prepared.workload.deviations, failures=tuple(failures)
    )
    return evidence, reference


def _doubles(
    asking: Asking, prepared: Prepared, tf: Collected, port: str
) -> tuple[dict[tuple[str, str, str], Arrays], str]:
    """The original in float64 or complex128, by case, and where it came from."""
    found = {}
    reason = ""
    try:
        doubles = find_doubles(asking.workers.get(port), [tf], prepared)
        found = dict(doubles.arrays)
        reason = str(doubles.sources.get((TF, FORWARD), ""))
    except SideError as error:
        reason = error.reason
    if not found and (FORWARD, FLOAT64) in tf.programs:
        # The type itself is refused in every mode; the same function of the same numbers in float64 is not.
        found = {(TF, FORWARD, case): arrays for (_, case), arrays in tf.doubles.items()}
        reason = "native"
    return found, f"tf in float64, {reason}" if found else ""


def _exact(asking: Asking, prepared: Prepared, dtype: str) -> dict[str, Arrays]:
    """What int64 gives on the same numbers, wrapped as the type wraps; nothing where TensorFlow refuses that too."""
    assert isinstance(prepared.workload, Workload)
    wide = casting.as_integers(prepared.workload, prepared.inputs, dtype)
    folder = prepared.loading.arrays.parent / "int64"
    folder.mkdir()
    collected = _collected(asking, TF, at_size.prepare(wide, "cast", None, folder))
    runs = {case: arrays for (mode, _, case), arrays in collected.outputs.items() if mode == TF_REFERENCE}
    return {case: {leaf: _wrapped(array, dtype) for leaf, array in arrays.items()} for case, arrays in runs.items()}


def _wrapped(array: np.ndarray, dtype: str) -> np.ndarray:
    if array.dtype != np.int64:
        return array
    least, most = ends_of(dtype)
    if most - least >= np.iinfo(np.int64).max:
        return array.astype(dtype)
    return ((array - least) % (most - least + 1) + least).astype(dtype)


def _program(asking: Asking, name: str, collected: Collected, suffix: str = "") -> TypedProgram:
    """What a side's XLA made of the program."""
    side, program = collected.side, collected.programs.get((FORWARD, FLOAT32))
    if program is None or collected.lost:
        return TypedProgram(side=side + suffix, reason="no program")
    parameters = tuple(parameter.dtype for parameter in program.parameters)
    try:
        worker = asking.workers.get(name)
        handle = requests.compile_program(worker, program).handle
        found = arithmetic_types(requests.optimized(worker, handle).module)
    except (SideError, UnreadableProgram) as error:
        return TypedProgram(side=side + suffix, parameters=parameters, reason=getattr(error, "reason", str(error)))
    return TypedProgram(side + suffix, parameters, found.computes, found.converts, found.calls)


def differing(functions: Sequence[TypedFunction]) -> Iterator[tuple[str, str, TypedMode]]:
    """Function, type and mode of everything that gives other numbers, or another type, than it should."""
    for function in functions:
        for row in function.rows:
            for mode in row.modes:
                if mode.status in type_verdicts.FAILING and not mode.mode.endswith(WITHOUT_X64):
                    yield function.name, row.dtype, mode
