"""What it costs to get to the steady state, and what memory a mode takes there, as text. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from compare.record.base import Number
from compare.record.cost_parts import Batch, Batches, Cache, LargestBatch, Memory, Phases, Stages
from compare.record.envelope import Record
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.showable import present
from compare.report.tables import order_modes

STAGES = ("import", "load", "trace", "lower", "compile", "first call", "steady")
"""What the seconds of a `PhaseRow` are of."""


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
    fits: bool | None
    """Within the limit; None where that is not known."""
    reason: str


def phases(workload: Workload) -> tuple[PhaseRow, ...]:
    """Every mode, cold and then cached where there is a cache."""
    return tuple(
        _phase(mode, state, stages)
        for mode in order_modes(workload.phases)
        for state, stages in (("cold", workload.phases[mode].cold), ("cached", workload.phases[mode].cached))
        if stages is not None
    )


def storage(workload: Workload) -> tuple[StorageRow, ...]:
    """Cache, memory and code of every mode."""
    return tuple(_storage(mode, workload.phases[mode]) for mode in order_modes(workload.phases))


def dispatch(record: Record) -> tuple[DispatchRow, ...]:
    """What a call costs, by mode."""
    of_each = {"": record.dispatch} if record.dispatch else {name: node.dispatch for name, node in record.nodes.items()}
    return tuple(
        DispatchRow(
            f"{mode} on {name}" if name else mode,
            numbers.seconds(entries[mode].public_s),
            numbers.seconds(entries[mode].concrete_s),
        )
        for name, entries in of_each.items()
        for mode in order_modes(entries)
    )


def batches(workload: Workload) -> tuple[BatchRow, ...]:
    """Every mode and batch size that was tried, in the record's order."""
    trials = workload.batches or Batches()
    return tuple(_batch(row, numbers.finite(trials.limit_bytes)) for row in trials.rows)


def batch_limit(workload: Workload) -> str:
    """The memory that a batch may take; empty where no batches were tried."""
    limit = (workload.batches or Batches()).limit_bytes
    return numbers.binary_bytes(limit) if limit is not None else ""


def largest_batches(workload: Workload) -> tuple[tuple[str, str], ...]:
    """By mode, the largest batch within the limit and its throughput."""
    largest = (workload.batches or Batches()).largest
    return tuple((mode, _largest(largest[mode])) for mode in order_modes(largest))


def examples_per_second(value: Number) -> str:
    """Throughput: "13,653 examples/s"."""
    number = numbers.finite(value)
    return numbers.MISSING if number is None else f"{number:,.0f} examples/s"


def _phase(mode: str, state: str, stages: Stages) -> PhaseRow:
    seconds = (
        *(stages.import_s, stages.load_s, stages.trace_s, stages.lower_s),
        *(stages.compile_s, stages.first_call_s, stages.steady_s),
    )
    return PhaseRow(
        mode=mode,
        state=state,
        seconds=tuple(map(numbers.seconds, seconds)),
        derived=bool(stages.compile_derived),
        held=numbers.binary_bytes(stages.baseline_rss_bytes),
        peak=numbers.binary_bytes(stages.peak_rss_bytes),
    )


def _storage(mode: str, phases: Phases) -> StorageRow:
    cache, memory = phases.cache or Cache(), phases.memory or Memory()
    return StorageRow(
        mode=mode,
        entries=numbers.count(cache.entries),
        cache=numbers.binary_bytes(cache.bytes),
        arguments=numbers.binary_bytes(memory.argument_bytes),
        outputs=numbers.binary_bytes(memory.output_bytes),
        temporary=numbers.binary_bytes(memory.temp_bytes),
        aliased=numbers.binary_bytes(memory.alias_bytes),
        code=numbers.binary_bytes(phases.code_bytes),
        reasons=tuple(filter(None, (cache.reason, phases.code_reason))),
    )


def _batch(row: Batch, limit: float | None) -> BatchRow:
    return BatchRow(
        mode=row.mode,
        batch=numbers.count(row.batch),
        peak=numbers.binary_bytes(row.peak_bytes),
        temporary=numbers.binary_bytes(row.temp_bytes),
        steady=numbers.seconds(row.steady_s),
        throughput=examples_per_second(row.examples_per_s),
        fits=_fits(row, limit),
        reason=row.reason,
    )


def _fits(row: Batch, limit: float | None) -> bool | None:
    peak = numbers.finite(row.peak_bytes)
    if row.reason:
        return False
    return None if peak is None or limit is None else peak <= limit


def _largest(row: LargestBatch) -> str:
    if present(row) is None:
        return "no batch that was tried fits"
    return f"batch {numbers.count(row.batch)} at {examples_per_second(row.examples_per_s)}"
