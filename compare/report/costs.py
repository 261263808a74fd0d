"""Tables of the costs until the steady state, and of a mode's memory there. Pure."""

from __future__ import annotations

from compare.record.base import Number
from compare.record.cost_parts import Batch, Batches, Cache, LargestBatch, Memory, Phases, Stages
from compare.record.envelope import Record
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.pages import Cell, Column, Table, columns
from compare.report.showable import present
from compare.report.tables import order_modes

_PHASES = (
    *columns("mode", "cache"),
    *columns("import", "load", "trace", "lower", "compile", "first call", "steady call", kind="number"),
    *(Column("memory before", "number", "page"), Column("peak memory", "number")),
)
_STORAGE = (
    *(Column("mode"), *columns("cache entries", "cache size", kind="number")),
    *columns("arguments", "outputs", "temporary memory", "in place", "machine code", kind="number"),
    Column("note", "wrap"),
)
_DISPATCH = (
    Column("dispatch of one call on eight elements"),
    *columns("public call", "compiled code alone", kind="number"),
)
_BATCHES = (
    *(Column("mode"), Column("batch", "number"), Column("peak memory", "number strong"), Column("fits")),
    *(*columns("temporary", "call", "throughput", kind="number"), Column("why not", "wrap")),
)


def phases(workload: Workload) -> Table:
    """Every mode, cold and then cached where there is a cache."""
    rows = [
        _phase(mode, state, stages)
        for mode in order_modes(workload.phases)
        for state, stages in (("cold", workload.phases[mode].cold), ("cached", workload.phases[mode].cached))
        if stages is not None
    ]
    return Table(_PHASES, rows, "phases")


def has_derived(workload: Workload) -> bool:
    """Whether a compile time was not timed: it is what the first call took beyond all else."""
    stages = [stages for phases in workload.phases.values() for stages in (phases.cold, phases.cached) if stages]
    return any(stage.compile_derived for stage in stages)


def storage(workload: Workload) -> Table:
    """The table of each mode's cache entries, planned memory and code size."""
    rows = [_storage(mode, workload.phases[mode]) for mode in order_modes(workload.phases)]
    return Table(_STORAGE, rows, "cache, memory and code")


def dispatch(record: Record) -> Table:
    """The table of the time of a call on eight elements, by mode."""
    of_each = {"": record.dispatch} if record.dispatch else {name: node.dispatch for name, node in record.nodes.items()}
    rows = [
        (
            f"{mode} on {name}" if name else mode,
            numbers.seconds(entries[mode].public_s),
            numbers.seconds(entries[mode].concrete_s),
        )
        for name, entries in of_each.items()
        for mode in order_modes(entries)
    ]
    return Table(_DISPATCH, rows, "dispatch")


def batches(workload: Workload) -> Table:
    """Every mode and batch size that was tried, in the record's order."""
    trials = workload.batches or Batches()
    return Table(_BATCHES, [_batch(row, numbers.finite(trials.limit_bytes)) for row in trials.rows], "batches")


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


def _phase(mode: str, state: str, stages: Stages) -> list[Cell]:
    seconds = (
        *(stages.import_s, stages.load_s, stages.trace_s, stages.lower_s),
        *(stages.compile_s, stages.first_call_s, stages.steady_s),
    )
    cells = [Cell(text) for text in (mode, state, *map(numbers.seconds, seconds))]
    cells[6] = Cell(cells[6].text, note="derived" if stages.compile_derived else "")
    memory = (stages.baseline_rss_bytes, stages.peak_rss_bytes)
    return [*cells, *map(Cell, map(numbers.binary_bytes, memory))]


def _storage(mode: str, phases: Phases) -> tuple[str, ...]:
    cache, memory = phases.cache or Cache(), phases.memory or Memory()
    sizes = (memory.argument_bytes, memory.output_bytes, memory.temp_bytes, memory.alias_bytes, phases.code_bytes)
    reasons = "; ".join(filter(None, (cache.reason, phases.code_reason)))
    return (
        *(mode, numbers.count(cache.entries), numbers.binary_bytes(cache.bytes)),
        *map(numbers.binary_bytes, sizes),
        reasons,
    )


def _batch(row: Batch, limit: float | None) -> tuple[str, ...]:
    return (
        row.mode,
        numbers.count(row.batch),
        numbers.binary_bytes(row.peak_bytes),
        {True: "yes", False: "no", None: numbers.MISSING}[_fits(row, limit)],
        numbers.binary_bytes(row.temp_bytes),
        numbers.seconds(row.steady_s),
        examples_per_second(row.examples_per_s),
        row.reason,
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
