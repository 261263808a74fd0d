"""What a user waits for before the steady state, by phase, and what a mode costs in memory: arithmetic only."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from compare.record.cost_parts import Cache, Entry, Memory, Stages

STEADY_S = 0.3
"""How long the steady state is watched."""

LEAST_CALLS = 5
MOST_CALLS = 10_000


def steady_calls(one_s: float) -> int:
    """How many calls of about `one_s` seconds fill `STEADY_S`, and never fewer than `LEAST_CALLS`."""
    fitting = math.ceil(STEADY_S / one_s) if one_s > 0 else MOST_CALLS
    return max(LEAST_CALLS, min(MOST_CALLS, fitting))


def process_of(told: Mapping[str, Any]) -> Stages:
    """Put together what a worker measured, so that trace, lower and compile never exceed the first call.

    A framework that times its stages apart calls what they made: `run_s`, the first call after them,
    comes on top. One that compiles inside the first call leaves `compile_s` open, and may time another
    lowering afterwards: that can only be what `run_s` has beyond a steady call, and compiling is the rest.
    """
    trace_s, lower_s, compile_s = told["trace_s"], told["lower_s"], told["compile_s"]
    spent = [seconds for seconds in (trace_s, lower_s, compile_s) if seconds is not None]
    relowered_s = told["analysis"]["lower_s"]
    derived = compile_s is None and relowered_s is not None
    if compile_s is None and relowered_s is not None:
        beyond_s = max(0.0, told["run_s"] - told["steady_s"])
        lower_s = min(relowered_s, beyond_s)
        compile_s = beyond_s - lower_s
    return Stages(
        import_s=told["import_s"],
        load_s=told["load_s"],
        trace_s=trace_s,
        lower_s=lower_s,
        compile_s=compile_s,
        compile_derived=derived,
        first_call_s=sum(spent) + told["run_s"],
        steady_s=told["steady_s"],
        baseline_rss_bytes=told["baseline_rss_bytes"],
        peak_rss_bytes=told["peak_rss_bytes"],
    )


def memory_of(told: Mapping[str, Any]) -> Memory | None:
    """What the compiler said of the memory, where it did."""
    memory = told["analysis"]["memory"]
    return None if memory is None else Memory(**memory)


def median(processes: Sequence[Stages]) -> Stages:
    """The median of every figure by itself, so that parts need not add up; what one lacks comes from the others."""
    names = Stages.__struct_fields__
    medians = {name: _median([getattr(process, name) for process in processes]) for name in names}
    return Stages(**medians | {"compile_derived": any(process.compile_derived for process in processes)})


def median_dispatch(processes: Sequence[Entry]) -> Entry:
    """The median over processes."""
    return Entry(
        public_s=_median([process.public_s for process in processes]),
        concrete_s=_median([process.concrete_s for process in processes]),
    )


def cache_of(filled: Mapping[str, int], later: Mapping[str, int]) -> Cache:
    """Judge a cache by its files.

    Args:
      filled: bytes by file after the process that found it empty.
      later: the same after the processes that found it filled.
    """
    entries, size = len(filled), sum(filled.values())
    if not filled:
        return Cache(
            entries=0,
            bytes=0,
            reason="the process wrote nothing into the cache: this mode compiles nothing that the cache keeps",
        )
    missed = len(later.keys() - filled.keys())
    if missed:
        return Cache(
            entries=entries,
            bytes=size,
            reason=f"the processes that followed wrote {missed} more: they did not find what they need",
        )
    return Cache(entries=entries, bytes=size, reason="")


def code_of(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[int | None, str]:
    """Bytes of the object files that appeared in between, or None and why there are none."""
    written = [after[name] for name in after.keys() - before.keys()]
    if not written:
        return None, "XLA wrote no object file: all that runs was compiled beforehand, or is inside a library"
    return sum(written), ""


def _median(values: Sequence[Any]) -> Any:
    present = [value for value in values if value is not None]
    if not present:
        return None
    middle = statistics.median(present)
    return int(middle) if isinstance(present[0], int) else middle
