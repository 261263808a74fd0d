"""results.json, put together from what the judges found."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from compare import versions
from compare.hlo import stablehlo_text
from compare.inputs.at_size import Prepared, type_text
from compare.measure.measurements import Measured, Measurements
from compare.prove.collect import FLOAT32, Collected, unique
from compare.prove.program_alignment import Examined
from compare.record.envelope import SCHEMA, Environment, Node, Record
from compare.record.parity_part import Parity
from compare.record.program_parts import Compiled, Written
from compare.record.vocabulary import CELLS, FAIL, PASS
from compare.record.workload_part import Cost, Failure, Trajectory, Workload
from compare.sides.requests import Loading
from workloads.core.declared import AnyWorkload
from workloads.core.spec import Cost as DeclaredCost
from workloads.protocol.framework import PASSES, Scalar

NARROW_FLOATS = (
    *("avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16"),
    *("bf16", "svebf16", "fphp", "asimdhp"),
)
"""Flags of x86-64, then of 64-bit Arm: https://docs.kernel.org/arch/arm64/elf_hwcaps.html. f16c only converts."""

INTERRUPTED = "interrupted"
"""The prefix of a failure of both sides after an interrupt."""


def environment(sides: Mapping[str, Mapping[str, Scalar]]) -> Environment:
    """Versions and machine: what a ratio depends on."""
    return Environment(
        jaxport=versions.own(),
        python=platform.python_version(),
        platform=platform.platform(),
        cpu=cpu_name(),
        narrow_floats=narrow_floats(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        sides=sides,
    )


def envelope(
    environment: Environment, workloads: Mapping[str, Workload], size: str | None, node: Node | None = None
) -> Record:
    """The whole record.

    Args:
      workloads: every workload's part, by name.
      size: that was asked for; None is the tour's.
      node: the machine that was measured; None where none was.
    """
    now, node = datetime.datetime.now(datetime.UTC), node or Node()
    return Record(
        schema=SCHEMA,
        created=now.isoformat(timespec="seconds"),
        command=("jaxport", *sys.argv[1:]),
        size=size or "tour",
        environment=environment,
        machine=node.machine,
        dispatch=node.dispatch,
        handover=node.handover,
        workloads={name: replace(part, failures=unique(part.failures)) for name, part in workloads.items()},
    )


def workload(
    instance: Prepared,
    parity_size: str,
    deliveries: Mapping[str, Collected],
    parity: Parity | None,
    cells: Mapping[str, Compiled],
    examination: Examined | None,
    failures: Sequence[Failure],
) -> Workload:
    """Make one workload's part of the record; times and their failures are added later.

    Args:
      deliveries: by side, its results.
      parity: None where nothing was judged.
      cells: modules by program@compiler.
      examination: the comparison of both programs; None where one is missing.
    """
    spec = instance.workload
    return Workload(
        summary=spec.summary,
        source=spec.source,
        size=instance.size,
        parity_size=parity_size,
        dimensions=dict(instance.dimensions),
        dtype=FLOAT32,
        inputs={name: type_text(spec) for name, spec in instance.inputs.items()},
        sha256=instance.loading.sha256,
        main_pass=next((evidence.main_pass for evidence in deliveries.values()), ""),
        unrolled=instance.loading.unrolled or None,
        passes=_passes(deliveries),
        cost=_cost(instance.cost),
        failures=tuple(failures),
        parity=parity,
        programs={
            side: _written_program(evidence.main.artifact) for side, evidence in deliveries.items() if evidence.main
        },
        stages={side: dict(evidence.stages) for side, evidence in deliveries.items() if evidence.stages},
        alignment=examination.alignment if examination else None,
        compiled=cells,
        profile={mode: profile for evidence in deliveries.values() for mode, profile in evidence.profile.items()},
        trajectory=_losses(deliveries),
        compiler_options=dict(deliveries["jax"].compiler_options) if "jax" in deliveries else {},
        compilers=examination.compilers if examination else None,
    )


def _passes(deliveries: Mapping[str, Collected]) -> tuple[str, ...]:
    """The passes that every delivery has."""
    by_side = [set(evidence.modes) for evidence in deliveries.values()]
    return tuple(pass_ for pass_ in PASSES if by_side and pass_ in set.intersection(*by_side))


def not_judged(spec: AnyWorkload, size: str | None, failure: Failure) -> Workload:
    """The part of a workload that cannot be judged, and why.

    Args:
      size: that was asked for; None is the tour's.
    """
    nothing = Loading(spec.name, {}, False, {}, (), (), Path(), "")
    instance = Prepared(size or "", {}, nothing, {}, None, workload=spec)
    return workload(instance, instance.size, {}, None, empty_cells(failure.reason), None, [failure])


def empty_cells(reason: str) -> dict[str, Compiled]:
    """All four cells, and why they are empty."""
    return dict.fromkeys(CELLS, Compiled(reason=reason))


def failing(part: Workload, *failures: Failure) -> Workload:
    """The part with further failures."""
    return replace(part, failures=(*part.failures, *failures))


def with_measurements(parts: Mapping[str, Workload], results: Measured) -> dict[str, Workload]:
    """Every part with what was measured of its workload. Interrupted, those that were timed say so."""
    with_times = {name: _with(parts[name], measurements) for name, measurements in results.workloads.items()}
    if not results.interrupted:
        return {name: failing(part, *results.failures) for name, part in {**parts, **with_times}.items()}
    reason = f"{INTERRUPTED}: what was judged and timed before it stands"
    failure = Failure("both sides", "timing", reason)
    return {**parts, **{name: failing(part, failure) for name, part in with_times.items()}}


def _with(part: Workload, measurements: Measurements) -> Workload:
    return replace(
        part,
        timing=measurements.timing,
        attribution=measurements.attribution,
        by_threads=measurements.by_threads,
        roofline=measurements.roofline,
        phases=measurements.phases,
        batches=measurements.batches,
        failures=(*part.failures, *measurements.failures),
    )


def with_missing(parts: Mapping[str, Workload], names: Sequence[str], reason: str) -> dict[str, Workload]:
    """The judged parts, each with the names of the missing ones.

    Args:
      parts: of what was judged, by name.
      reason: why the others were not judged.
    """
    missing = [name for name in names if name not in parts]
    names_text = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
    sentence = f"{reason} after {len(parts)} of {len(names)} workloads; not in this record: {names_text}"
    return {name: failing(part, Failure("both sides", "judging", sentence)) for name, part in parts.items()}


def verdict(record: Record) -> str:
    """Pass where every workload's parity passes and no side failed at anything."""
    parts = record.workloads.values()
    clean = all(part.parity is not None and part.parity.verdict == PASS and not part.failures for part in parts)
    return PASS if clean and parts else FAIL


def _cost(cost: DeclaredCost | None) -> Cost | None:
    return None if cost is None else Cost(flops=cost.flops, bytes=cost.bytes, source=cost.source)


def _written_program(artifact: bytes) -> Written:
    summary = stablehlo_text.describe(artifact)
    return Written(instructions=summary.instructions, opcodes=summary.opcodes, sha256=summary.sha256, text=summary.text)


def _losses(deliveries: Mapping[str, Collected]) -> dict[str, Trajectory]:
    return {
        mode: Trajectory(loss=tuple(float(value) for value in arrays["loss"]))
        for evidence in deliveries.values()
        for (mode, dtype), arrays in evidence.trajectories.items()
        if dtype == FLOAT32
    }


def cpu_name() -> str:
    """The processor, as Linux names it."""
    return next(_of_processor("model name"), platform.processor())


def narrow_floats() -> str:
    """Instruction sets of the processor that compute in bfloat16 or float16, as Linux names them; elsewhere ""."""
    flags = next(_of_processor("flags", "Features"), "").split()
    return ", ".join(flag for flag in NARROW_FLOATS if flag in flags)


def _of_processor(*keys: str) -> Iterator[str]:
    """The values of these keys in Linux's list of processors, in order."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in keys:
            yield value.strip()
