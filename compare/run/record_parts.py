"""results.json, put together from what the judges found."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from compare.hlo import stablehlo_text
from compare.inputs.at_size import Prepared, described
from compare.prove import program_alignment
from compare.prove.collect import FLOAT32, Collected, reasons
from compare.records import CELLS, FAIL, PASS, SCHEMA, Failure, Parity
from compare.sides.requests import Loading
from workloads._declared import AnyWorkload

INTERRUPTED = "interrupted"
"""What a failure of both sides begins with where somebody wanted no more."""


def environment(sides: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Versions and machine: what a ratio depends on."""
    try:
        own = version("jaxport")
    except PackageNotFoundError:
        own = "unknown: not installed"
    return {
        "jaxport": own,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "sides": sides,
    }


def envelope(
    environment: Mapping[str, Any], workloads: Mapping[str, Any], size: str | None, machine: Mapping[str, Any]
) -> dict[str, Any]:
    """The whole record; `machine` holds what was measured of the machine itself."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "schema": SCHEMA,
        "created": now.isoformat(timespec="seconds"),
        "command": ["jaxport", *sys.argv[1:]],
        "size": size or "tour",
        "environment": environment,
        **machine,
        "workloads": {name: {**part, "failures": reasons(part["failures"])} for name, part in workloads.items()},
    }


def workload(
    prepared: Prepared,
    parity_size: str,
    collected: Mapping[str, Collected],
    parity: Parity | None,
    cells: Mapping[str, Any],
    examined: Mapping[str, Any] | None,
    failures: Sequence[Failure],
) -> dict[str, Any]:
    """One workload's part; what time tells is added to it later, and failures with it."""
    spec = prepared.workload
    return {
        "summary": spec.summary,
        "source": spec.source,
        "size": prepared.size,
        "parity_size": parity_size,
        "dimensions": dict(prepared.dimensions),
        "dtype": FLOAT32,
        "inputs": {name: described(spec) for name, spec in prepared.inputs.items()},
        "sha256": prepared.loading.sha256,
        "cost": vars(prepared.cost) if prepared.cost else None,
        "failures": list(failures),
        "parity": parity,
        "programs": {
            side: stablehlo_text.describe(each.main.artifact) for side, each in collected.items() if each.main
        },
        "stages": {side: dict(each.main.stages) for side, each in collected.items() if each.main},
        "alignment": program_alignment.recorded(examined) if examined else None,
        "compiled": cells,
        "profile": {mode: kernels for each in collected.values() for mode, kernels in each.profile.items()},
        "trajectory": _losses(collected),
        "compiler_options": dict(collected["jax"].compiler_options) if "jax" in collected else {},
        "timing": None,
        "attribution": None,
        "compilers": examined["compilers"] if examined else None,
        "by_threads": {},
        "peers": {},
        "roofline": None,
        "phases": {},
        "batches": None,
    }


def not_judged(spec: AnyWorkload, size: str | None, failure: Failure) -> dict[str, Any]:
    """The part of a workload that cannot be judged, and why."""
    nothing = Loading(spec.name, {}, False, {}, (), (), Path(), "")
    prepared = Prepared(size or "", {}, nothing, {}, None, workload=spec)
    empty = {cell: {"reason": failure.reason} for cell in CELLS}
    return workload(prepared, prepared.size, {}, None, empty, None, [failure])


def note_interrupted(parts: Mapping[str, dict[str, Any]], asked: Sequence[str]) -> None:
    """What was judged stands, and says that more was asked for."""
    missing = [name for name in asked if name not in parts]
    named = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
    reason = f"{INTERRUPTED}: judged before it: {len(parts)} of {len(asked)}; not in this record: {named}"
    for part in parts.values():
        part["failures"].append(Failure("both sides", "judging", reason))


def was_interrupted(part: Mapping[str, Any]) -> bool:
    """Whether a workload's part of the record, as JSON, stems from a run that was interrupted."""
    return any(each["reason"].startswith(INTERRUPTED) for each in part["failures"] if each["side"] == "both sides")


def verdict(record: Mapping[str, Any]) -> str:
    """Pass where every workload's parity passes and no side failed at anything; of a record as JSON."""
    parts = record["workloads"].values()
    clean = all((part.get("parity") or {}).get("verdict") == PASS and not part.get("failures") for part in parts)
    return PASS if clean and parts else FAIL


def _losses(collected: Mapping[str, Collected]) -> dict[str, Any]:
    return {
        mode: {"loss": [float(value) for value in arrays["loss"]]}
        for each in collected.values()
        for (mode, dtype), arrays in each.trajectories.items()
        if dtype == FLOAT32
    }


def cpu_name() -> str:
    """The processor, as Linux names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
