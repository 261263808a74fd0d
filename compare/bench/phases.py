"""Times of each phase before the steady state, and the memory of a mode: arithmetic only."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from compare.record.cost_parts import Cache, Entry, Memory, Stages
from workloads.protocol.framework import Analysis

STEADY_S = 0.3
"""How long the steady state is watched."""

LEAST_CALLS = 5
MOST_CALLS = 10_000


def steady_calls(one_s: float) -> int:
    """How many calls of about `one_s` seconds fill `STEADY_S`, and never fewer than `LEAST_CALLS`."""
    fitting = math.ceil(STEADY_S / one_s) if one_s > 0 else MOST_CALLS
    return max(LEAST_CALLS, min(MOST_CALLS, fitting))


class Start(msgspec.Struct, frozen=True):
    """The measurements of one target in a process of its own; None for what the framework does not report."""

    import_s: float
    """Seconds to import the framework."""
    load_s: float
    """Seconds to build the twin and take its arrays."""
    trace_s: float | None
    """Seconds to trace."""
    lower_s: float | None
    """Seconds to lower to StableHLO."""
    compile_s: float | None
    """Seconds to compile."""
    run_s: float
    """Seconds of the first call after these."""
    steady_s: float
    """Seconds of a later call, the median."""
    baseline_rss_bytes: int | None
    """Bytes of physical memory before the twin was built."""
    peak_rss_bytes: int | None
    """Bytes of physical memory at most since the mode was prepared."""
    analysis: Analysis
    """The analysis that the framework gives in a second request."""


def process_of(start: Start) -> Stages:
    """Put together what a worker measured, so that trace, lower and compile never exceed the first call.

    A framework that times its stages apart calls what they made: `run_s`, the first call after them,
    comes on top. One that compiles inside the first call leaves `compile_s` open, and may time another
    lowering afterwards: that can only be what `run_s` has beyond a steady call, and compiling is the rest.
    """
    trace_s, lower_s, compile_s = start.trace_s, start.lower_s, start.compile_s
    phase_times = [seconds for seconds in (trace_s, lower_s, compile_s) if seconds is not None]
    relowered_s = start.analysis.lower_s
    is_derived = compile_s is None and relowered_s is not None
    if compile_s is None and relowered_s is not None:
        beyond_s = max(0.0, start.run_s - start.steady_s)
        lower_s = min(relowered_s, beyond_s)
        compile_s = beyond_s - lower_s
    return Stages(
        import_s=start.import_s,
        load_s=start.load_s,
        trace_s=trace_s,
        lower_s=lower_s,
        compile_s=compile_s,
        compile_derived=is_derived,
        first_call_s=sum(phase_times) + start.run_s,
        steady_s=start.steady_s,
        baseline_rss_bytes=start.baseline_rss_bytes,
        peak_rss_bytes=start.peak_rss_bytes,
    )


def memory_of(start: Start) -> Memory | None:
    """The memory that the compiler reported."""
    memory = start.analysis.memory
    if memory is None:
        return None
    return Memory(memory.argument_bytes, memory.output_bytes, memory.temp_bytes, memory.alias_bytes)


def median(processes: Sequence[Stages]) -> Stages:
    """The median of each figure by itself, so parts need not add up; a process may lack a figure."""
    names = Stages.__struct_fields__
    medians = {name: _median([getattr(process, name) for process in processes]) for name in names}
    return Stages(**medians | {"compile_derived": any(process.compile_derived for process in processes)})


def median_dispatch(processes: Sequence[Entry]) -> Entry:
    """The median over processes."""
    return Entry(
        public_s=_median([process.public_s for process in processes]),
        concrete_s=_median([process.concrete_s for process in processes]),
    )


def cache_of(entries_before: Mapping[str, int], later: Mapping[str, int]) -> Cache:
    """Judge a cache by its files.

    Args:
      entries_before: bytes by file after the process that found it empty.
    """
    entries, size = len(entries_before), sum(entries_before.values())
    if not entries_before:
        return Cache(
            entries=0,
            bytes=0,
            reason="the process wrote nothing into the cache: this mode compiles nothing that the cache keeps",
        )
    misses = len(later.keys() - entries_before.keys())
    if misses:
        return Cache(
            entries=entries,
            bytes=size,
            reason=f"the processes that followed wrote {misses} more: they did not find what they need",
        )
    return Cache(entries=entries, bytes=size, reason="")


def code_of(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[int | None, str]:
    """Bytes of the object files that appeared in between, or None and why there are none."""
    new_sizes = [after[name] for name in after.keys() - before.keys()]
    if not new_sizes:
        return None, "XLA wrote no object file: all that runs was compiled beforehand, or is inside a library"
    return sum(new_sizes), ""


def _median(values: Sequence[Any]) -> Any:
    present = [value for value in values if value is not None]
    if not present:
        return None
    middle = statistics.median(present)
    return int(middle) if isinstance(present[0], int) else middle
