"""What it costs to get to the steady state, and what memory a mode takes there, as text. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compare.report import numbers
from compare.report.showable import entries, mapping, part, text
from compare.report.tables import ordered

STATES = ("cold", "cached")
STAGES = ("import_s", "load_s", "trace_s", "lower_s", "compile_s", "first_call_s", "steady_s")


@dataclass(frozen=True)
class PhaseRow:
    """One mode without a compilation cache, or with a filled one."""

    mode: str
    state: str
    seconds: tuple[str, ...]
    derived: bool
    """Compiling was not timed: it is what the first call took beyond all else."""
    held: str
    peak: str


@dataclass(frozen=True)
class StorageRow:
    """What a mode leaves in a compilation cache, sets aside in memory, and compiles to."""

    mode: str
    entries: str
    cache: str
    arguments: str
    outputs: str
    temporary: str
    aliased: str
    code: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class DispatchRow:
    """One call on eight elements: what calling itself costs."""

    mode: str
    public: str
    concrete: str


@dataclass(frozen=True)
class BatchRow:
    """One mode at one batch size."""

    mode: str
    batch: str
    peak: str
    temporary: str
    steady: str
    throughput: str
    fits: bool
    reason: str


def phases(workload: object) -> tuple[PhaseRow, ...]:
    """Every mode, cold and then cached where there is a cache."""
    found = mapping(workload, "phases")
    return tuple(
        _phase(mode, state, each)
        for mode in ordered(found)
        for state in STATES
        if (each := mapping(found, mode, state))
    )


def storage(workload: object) -> tuple[StorageRow, ...]:
    """Cache, memory and code of every mode."""
    found = mapping(workload, "phases")
    return tuple(_storage(mode, mapping(found, mode)) for mode in ordered(found))


def dispatch(record: object) -> tuple[DispatchRow, ...]:
    """What a call costs, by mode."""
    found = mapping(record, "dispatch")
    return tuple(
        DispatchRow(
            mode, numbers.seconds(part(found, mode, "public_s")), numbers.seconds(part(found, mode, "concrete_s"))
        )
        for mode in ordered(found)
    )


def batches(workload: object) -> tuple[BatchRow, ...]:
    """Every mode and batch size that was tried, in the record's order."""
    limit = numbers.finite(part(workload, "batches", "limit_bytes"))
    return tuple(_batch(row, limit) for row in entries(workload, "batches", "rows"))


def batch_limit(workload: object) -> str:
    """The memory that a batch may take; empty where no batches were tried."""
    limit = part(workload, "batches", "limit_bytes")
    return numbers.binary_bytes(limit) if limit is not None else ""


def largest_batches(workload: object) -> tuple[tuple[str, str], ...]:
    """By mode, the largest batch within the limit and its throughput."""
    found = mapping(workload, "batches", "largest")
    return tuple((mode, _largest(found[mode])) for mode in ordered(found))


def examples_per_second(value: object) -> str:
    """Throughput: "13,653 examples/s"."""
    found = numbers.finite(value)
    return numbers.MISSING if found is None else f"{found:,.0f} examples/s"


def _phase(mode: str, state: str, found: Mapping[str, Any]) -> PhaseRow:
    return PhaseRow(
        mode=mode,
        state=state,
        seconds=tuple(numbers.seconds(part(found, stage)) for stage in STAGES),
        derived=bool(part(found, "compile_derived")),
        held=numbers.binary_bytes(part(found, "baseline_rss_bytes")),
        peak=numbers.binary_bytes(part(found, "peak_rss_bytes")),
    )


def _storage(mode: str, found: Mapping[str, Any]) -> StorageRow:
    return StorageRow(
        mode=mode,
        entries=numbers.count(part(found, "cache", "entries")),
        cache=numbers.binary_bytes(part(found, "cache", "bytes")),
        arguments=numbers.binary_bytes(part(found, "memory", "argument_bytes")),
        outputs=numbers.binary_bytes(part(found, "memory", "output_bytes")),
        temporary=numbers.binary_bytes(part(found, "memory", "temp_bytes")),
        aliased=numbers.binary_bytes(part(found, "memory", "alias_bytes")),
        code=numbers.binary_bytes(part(found, "code_bytes")),
        reasons=tuple(filter(None, (text(found, "cache", "reason"), text(found, "code_reason")))),
    )


def _batch(row: object, limit: float | None) -> BatchRow:
    peak = numbers.finite(part(row, "peak_bytes"))
    return BatchRow(
        mode=text(row, "mode"),
        batch=numbers.count(part(row, "batch")),
        peak=numbers.binary_bytes(part(row, "peak_bytes")),
        temporary=numbers.binary_bytes(part(row, "temp_bytes")),
        steady=numbers.seconds(part(row, "steady_s")),
        throughput=examples_per_second(part(row, "examples_per_s")),
        fits=peak is not None and limit is not None and peak <= limit,
        reason=text(row, "reason"),
    )


def _largest(found: object) -> str:
    if not mapping(found):
        return "no batch that was tried fits"
    return f"batch {numbers.count(part(found, 'batch'))} at {examples_per_second(part(found, 'examples_per_s'))}"
