"""pytest-benchmark's JSON: what a benchmark keeps of a record beside its times, and that read back into a record."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from compare import files
from compare.plain_json import to_json
from compare.record import timing_part
from compare.record.base import Count, Number, Part, Scalar, Text
from compare.record.envelope import SCHEMA
from compare.record.parity_part import Parity
from compare.record.program_parts import Profile, Written
from compare.record.results_file import A_RECORD, RecordError, check
from compare.record.timing_part import Ratio, Timing
from compare.record.workload_part import Workload
from compare.report.tables import median, other_pass
from workloads.core.modes import JAX, PORT, TF, Mode, Pair, parse_mode, recorded_mode

KEY = "jaxport"
"""Where a benchmark keeps its workload's part of the record, and machine_info the record's environment."""

_LONG = frozenset({"text", "stages", "comparisons", "names", "kernel_names", "opcodes", "frontier", "trajectory"})
"""Fields of a workload's record that grow with the program: they are left out of a file of many benchmarks."""


class _Stats(Part, frozen=True):
    median: Number = None


class _Benchmark(Part, frozen=True):
    stats: _Stats | None = None
    extra_info: dict[str, Any] | None = None


class _File(msgspec.Struct, frozen=True):
    """The parts of pytest-benchmark's file that are read; a benchmark's part of a record is read as a record."""

    machine_info: dict[str, Any]
    benchmarks: tuple[_Benchmark, ...]
    datetime: Text = ""


class _Kept(Part, frozen=True):
    schema: Scalar = None
    part: dict[str, Any] | None = None


class _ExtraInfo(Part, frozen=True):
    """The parts of a benchmark's `extra_info` that are read."""

    workload: Text = ""
    size: Text = ""
    mode: Text = ""
    jaxport: _Kept | None = None


class _Processor(Part, frozen=True):
    brand_raw: Text = ""
    count: Count = None


class _Machine(Part, frozen=True):
    """The parts of pytest-benchmark's description of the machine that are read."""

    python_version: Text = ""
    system: Text = ""
    release: Text = ""
    cpu: _Processor | None = None


@dataclass(frozen=True)
class _PortBenchmark:
    """A benchmark of one mode of a port; `plain` is its workload's part of the record, fields of other versions too."""

    workload: str
    size: str
    mode: str
    median_s: Number
    plain: Mapping[str, Any]
    digests: tuple[str, str]
    """Digests of JAX's program and of TensorFlow's; empty if the record has none."""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Name, size, and digests of both programs: two functions of one name may be different ports."""
        return self.workload, self.size, *self.digests


def extra_info(name: str, plain: Mapping[str, Any], mode: str, baseline: Mode | None = None) -> dict[str, Any]:
    """The extra information of one mode's benchmark: its figures, and its workload's record without long texts.

    `ratio_of` says which ratio stands under `ratio`, `ci95`, `verdict` and `withheld`; it is empty where
    the record has none for this mode.

    Args:
      mode: "jax/jit", "tf/graph", and so on.
      baseline: the mode whose time is the denominator; None for the default of `ratio_of`.
    """
    workload = files.convert_plain(plain, Workload)
    timing = workload.timing or Timing()
    ratio_of = _ratio_of(timing, parse_mode(mode), baseline)
    mode_times, ratio = timing.modes.get(mode, timing_part.Mode()), timing.ratios.get(ratio_of, Ratio())
    figures = {
        "workload": name,
        "size": workload.size,
        "mode": mode,
        "main_pass": workload.main_pass,
        "parity": (workload.parity or Parity()).verdict,
        "instructions": workload.programs.get(parse_mode(mode).side, Written()).instructions,
        "kernels": workload.profile.get(mode, Profile()).kernels,
        "first_call_s": mode_times.first_call_s,
        "trace_s": mode_times.trace_s,
        "compile_s": mode_times.compile_s,
        "peak_rss_bytes": mode_times.peak_rss_bytes,
        "page_faults": mode_times.page_faults,
        "ratio_of": ratio_of,
        "ratio": ratio.ratio,
        "ci95": ratio.ci95,
        "verdict": ratio.verdict,
        "withheld": ratio.withheld,
    }
    return {**to_json(figures), KEY: {"schema": SCHEMA, "part": _short(plain)}}


def load(path: Path) -> dict[str, Any]:
    """The record in a results.json, or in what `pytest --benchmark-json` wrote.

    Raises:
      RecordError: it is neither, or of a newer jaxport.
    """
    plain = files.read_json(path, A_RECORD)
    if not isinstance(plain, dict) or plain.get("machine_info") is None or plain.get("benchmarks") is None:
        return check(plain, path)
    return check(record_of(plain, path), path)


def record_of(plain: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The record that benchmarks of ports make: medians from their statistics, everything else as they kept it.

    A mode that was not benchmarked has the median of the run that its workload's ratios come from.

    Raises:
      RecordError: none of the benchmarks is of a port, or they are of a newer jaxport.
    """
    file = files.convert(plain, _File, path, A_RECORD)
    of_ports = [benchmark for benchmark in file.benchmarks if (benchmark.extra_info or {}).get(KEY)]
    if not of_ports:
        raise RecordError(
            f"expected benchmarks of ports, found {len(file.benchmarks)} of other things: "
            "pass the JSON of tests that use the fixture port_benchmark"
        )
    benchmarks = [_of_port(benchmark, path) for benchmark in of_ports]
    return {
        "schema": SCHEMA,
        "created": file.datetime or "",
        "command": ["pytest"],
        "size": ", ".join(sorted({benchmark.size for benchmark in benchmarks})),
        "environment": _environment(file.machine_info, path),
        "workloads": _workloads(benchmarks),
    }


def _of_port(benchmark: _Benchmark, path: Path) -> _PortBenchmark:
    info = files.convert(benchmark.extra_info, _ExtraInfo, path, A_RECORD, "of a benchmark's extra_info")
    facts = info.jaxport or _Kept()
    if type(facts.schema) is not int or not 1 <= facts.schema <= SCHEMA:
        raise RecordError(f"expected benchmarks of schema {SCHEMA} or older, found {facts.schema}: upgrade jaxport")
    plain = facts.part or {}
    part = files.convert(plain, Workload, path, A_RECORD, "of a benchmark's part of the record")
    jax, tf = (part.programs.get(side, Written()).sha256 for side in (JAX, TF))
    return _PortBenchmark(
        workload=info.workload or "",
        size=", ".join(filter(None, (info.size, other_pass(part)))),
        mode=info.mode,
        median_s=benchmark.stats.median if benchmark.stats else None,
        plain=plain,
        digests=(jax, tf),
    )


def _ratio_of(timing: Timing, mode: Mode, baseline: Mode | None) -> str:
    """The mode against the baseline, where there is one.

    Else the port against this mode; for a mode of the port, that mode against the fastest one of the original.
    """
    if baseline is not None:
        pair = str(Pair(mode, baseline))
        return pair if pair in timing.ratios else ""
    port = str(Pair(PORT, mode))
    if port in timing.ratios:
        return port
    originals = [other for name in timing.modes if (other := recorded_mode(name)) and other.is_original]
    medians = {other: median(timing, other) for other in originals if str(Pair(mode, other)) in timing.ratios}
    fastest = min(medians, key=lambda other: medians[other] or math.inf, default=None)
    return str(Pair(mode, fastest)) if fastest else ""


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _short(item) for key, item in value.items() if key not in _LONG}
    return [_short(item) for item in value] if isinstance(value, list) else value


def _workloads(benchmarks: Sequence[_PortBenchmark]) -> dict[str, Any]:
    """By name; what goes by one name and is not the same stands under its size, and its JAX program's digest, too."""
    identities = list(dict.fromkeys(benchmark.identity for benchmark in benchmarks))
    workloads: dict[str, Any] = {}
    for benchmark in benchmarks:
        name = _key(benchmark.identity, identities)
        workload = workloads.setdefault(name, copy.deepcopy(dict(benchmark.plain)))
        mode_times = ((workload.get("timing") or {}).get("modes") or {}).get(benchmark.mode)
        if mode_times is not None:
            mode_times["median_s"] = to_json(benchmark.median_s)
    return workloads


def _key(identity: tuple[str, str, str, str], identities: Sequence[tuple[str, str, str, str]]) -> str:
    """The shortest part of the identity that no other one has."""
    name, size, program, _ = identity
    if [other[0] for other in identities].count(name) == 1:
        return name
    if [other[:2] for other in identities].count((name, size)) == 1:
        return f"{name} at {size}"
    return f"{name} at {size}, program {program[:8]}"


def _environment(machine_info: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The machine by jaxport's description, or else by pytest-benchmark's."""
    if machine_info.get(KEY):
        return machine_info[KEY]
    machine = files.convert(machine_info, _Machine, path, A_RECORD, "of machine_info")
    processor = machine.cpu or _Processor()
    return {
        "python": machine.python_version,
        "platform": f"{machine.system or ''} {machine.release or ''}".strip(),
        "cpu": processor.brand_raw,
        "cores": processor.count,
        "sides": {},
    }
