"""pytest-benchmark's JSON: what a benchmark keeps of a record beside its times, and that read back into a record."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from compare import files, records
from compare.records import SCHEMA, RecordError
from compare.report import numbers
from compare.report.showable import entries, mapping, part, text

KEY = "jaxport"
"""Where a benchmark keeps its workload's part of the record, and machine_info the record's environment."""

PORT = "jax/jit"

_PHASES = ("first_call_s", "trace_s", "compile_s", "peak_rss_bytes", "page_faults")
_RATIO = ("ratio", "ci95", "verdict", "withheld")
_LONG = frozenset({"text", "stages", "comparisons", "names", "kernel_names", "opcodes", "frontier", "trajectory"})
"""What a record has of a workload that grows with the program: a file of many benchmarks is no place for it."""


class _Benchmark(msgspec.Struct, frozen=True):
    stats: dict[str, Any] | None = None
    extra_info: dict[str, Any] | None = None


class _Written(msgspec.Struct, frozen=True):
    """What pytest-benchmark writes, as far as it is read: what a benchmark kept of a record is judged as a record."""

    machine_info: dict[str, Any]
    benchmarks: list[_Benchmark]


def extra_info(name: str, workload: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """What a benchmark of one mode keeps: its own figures, and its workload's part of the record without long texts.

    `ratio_of` says which ratio stands under `ratio`, `ci95`, `verdict` and `withheld`; it is empty where
    the record has none for this mode.
    """
    timing = mapping(workload, "timing")
    ratio_of = _ratio_of(timing, mode)
    return {
        "workload": name,
        "size": part(workload, "size"),
        "mode": mode,
        "parity": part(workload, "parity", "verdict"),
        "instructions": part(workload, "programs", mode.partition("/")[0], "instructions"),
        "kernels": part(workload, "profile", mode, "kernels"),
        **{key: part(timing, "modes", mode, key) for key in _PHASES},
        "ratio_of": ratio_of,
        **{key: part(timing, "ratios", ratio_of, key) for key in _RATIO},
        KEY: {"schema": SCHEMA, "part": _short(workload)},
    }


def load(path: Path) -> dict[str, Any]:
    """The record in a results.json, or in what `pytest --benchmark-json` wrote.

    Raises:
      RecordError: it is neither, or of a newer jaxport.
    """
    plain = files.read_json(path, records.A_RECORD)
    if part(plain, "machine_info") is None or part(plain, "benchmarks") is None:
        return records.checked(plain, path)
    files.convert(plain, _Written, path, records.A_RECORD)
    return records.checked(record_of(plain), path)


def record_of(benchmark_json: Mapping[str, Any]) -> dict[str, Any]:
    """The record that benchmarks of ports make: medians from their statistics, everything else as they kept it.

    A mode that was not benchmarked has the median of the run that its workload's ratios come from.

    Raises:
      RecordError: none of the benchmarks is of a port, or they are of a newer jaxport.
    """
    found = [each for each in entries(benchmark_json, "benchmarks") if mapping(each, "extra_info", KEY)]
    if not found:
        raise RecordError(
            f"expected benchmarks of ports, found {len(entries(benchmark_json, 'benchmarks'))} of other things: "
            "pass the JSON of tests that use the fixture port_benchmark"
        )
    for schema in (part(each, "extra_info", KEY, "schema") for each in found):
        if not isinstance(schema, int) or schema > SCHEMA:
            raise RecordError(f"expected benchmarks of schema {SCHEMA} or older, found {schema}: upgrade jaxport")
    return {
        "schema": SCHEMA,
        "created": text(benchmark_json, "datetime"),
        "command": ["pytest"],
        "size": ", ".join(sorted({text(each, "extra_info", "size") for each in found})),
        "environment": _environment(mapping(benchmark_json, "machine_info")),
        "workloads": _workloads(found),
    }


def _ratio_of(timing: Mapping[str, Any], mode: str) -> str:
    """The port against this mode; for a mode of the port, that mode against the fastest one of the original."""
    ratios = mapping(timing, "ratios")
    if f"{PORT} vs {mode}" in ratios:
        return f"{PORT} vs {mode}"
    others = [each for each in mapping(timing, "modes") if each.startswith("tf/") and f"{mode} vs {each}" in ratios]
    medians = {each: numbers.finite(part(timing, "modes", each, "median_s")) for each in others}
    fastest = min(others, key=lambda each: medians[each] or math.inf, default="")
    return f"{mode} vs {fastest}" if fastest else ""


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _short(item) for key, item in value.items() if key not in _LONG}
    return [_short(item) for item in value] if isinstance(value, list) else value


def _workloads(found: Sequence[Any]) -> dict[str, Any]:
    """By name; what goes by one name and is not the same stands under its size, and its JAX program's digest, too."""
    asked = list(dict.fromkeys(_identity(each) for each in found))
    workloads: dict[str, Any] = {}
    for each in found:
        identity, kept = _identity(each), mapping(each, "extra_info")
        workload = workloads.setdefault(_key(identity, asked), copy.deepcopy(part(kept, KEY, "part")))
        timed = part(workload, "timing", "modes", text(kept, "mode"))
        if isinstance(timed, dict):
            timed["median_s"] = part(each, "stats", "median")
    return workloads


def _identity(each: Any) -> tuple[str, str, str, str]:
    """Name, size, and digests of both programs: two functions of one name may be different ports."""
    kept = mapping(each, "extra_info")
    programs = mapping(kept, KEY, "part", "programs")
    digests = (text(programs, "jax", "sha256"), text(programs, "tf", "sha256"))
    return text(kept, "workload"), text(kept, "size"), *digests


def _key(identity: tuple[str, str, str, str], asked: Sequence[tuple[str, str, str, str]]) -> str:
    """As much of the identity as tells it from the others."""
    name, size, program, _ = identity
    if [each[0] for each in asked].count(name) == 1:
        return name
    if [each[:2] for each in asked].count((name, size)) == 1:
        return f"{name} at {size}"
    return f"{name} at {size}, program {program[:8]}"


def _environment(machine: Mapping[str, Any]) -> dict[str, Any]:
    """What jaxport said of the machine; else what pytest-benchmark did."""
    return dict(mapping(machine, KEY)) or {
        "python": part(machine, "python_version"),
        "platform": f"{text(machine, 'system')} {text(machine, 'release')}".strip(),
        "cpu": part(machine, "cpu", "brand_raw"),
        "cores": part(machine, "cpu", "count"),
        "sides": {},
    }
