"""What is measured beside ratios: peers, the roofline, phases, batches, and the machine's limits."""

from __future__ import annotations

from typing import Literal

from compare.record.base import Count, Many, Named, Number, Part, Text, Texts, Verdict


class PeerGate(Part, frozen=True):
    verdict: Verdict = None
    message: Text = ""


class Peer(Part, frozen=True):
    verdict: Literal["pass", "fail", "unavailable"] | None = None
    reason: Text = ""
    gates: Named[PeerGate] = {}
    version: Text = ""
    passes: Texts = ()


class Share(Part, frozen=True):
    share: Number = None
    note: Text = ""


class Roofline(Part, frozen=True):
    threads: Count = None
    working_set_bytes: Number = None
    bandwidth_bytes_per_s: Number = None
    bandwidth_by: Text = ""
    kind: Text = ""
    bounds: Named[Number] = {}
    bound: Text = ""
    limit_s: Number = None
    modes: Named[Share] = {}


class Stages(Part, frozen=True):
    """What one mode costs in a fresh process, or the median of several. None: the framework does not report it.

    `first_call_s` is what a user waits for until the first result: trace, lower, compile and run. `steady_s` is the
    median of the calls after it. With `compile_derived` nobody timed the compiler: `compile_s` is what the first call
    took beyond lowering and one steady call. `baseline_rss_bytes` is held before the twin is built,
    `peak_rss_bytes` at most since the mode was prepared, the compiler at work included.
    """

    import_s: Number = None
    load_s: Number = None
    trace_s: Number = None
    lower_s: Number = None
    compile_s: Number = None
    compile_derived: bool | None = None
    first_call_s: Number = None
    steady_s: Number = None
    baseline_rss_bytes: Number = None
    peak_rss_bytes: Number = None


class Cache(Part, frozen=True):
    """What one process left in an empty compilation cache; `reason` says why it helps no later process."""

    entries: Count = None
    bytes: Count = None
    reason: Text = ""


class Memory(Part, frozen=True):
    argument_bytes: Number = None
    output_bytes: Number = None
    temp_bytes: Number = None
    alias_bytes: Number = None


class Phases(Part, frozen=True):
    """One mode: medians over `processes` fresh processes without a compilation cache, and as many with a filled one.

    `code_bytes` are those of the object files that XLA writes for the mode. Kernels inside a library that the program
    calls have none, nor have the framework's own; `code_reason` says so where none is left.
    """

    cold: Stages | None = None
    cached: Stages | None = None
    cache: Cache | None = None
    memory: Memory | None = None
    code_bytes: Number = None
    code_reason: Text = ""
    processes: Count = None


class Batch(Part, frozen=True):
    """One mode at one batch size, in a fresh process.

    Attributes:
      peak_bytes: physical memory held at most, from before the mode was prepared through its steady calls, less what
        the process held before: arguments, weights, intermediates, and the compiler. None where the platform keeps no
        count, or the mode failed.
      temp_bytes: what the compiler allocates for intermediates; None where there is none or it does not say.
      steady_s: median seconds of a step.
      reason: why there are no figures; no larger batch of the mode was tried then.
    """

    mode: Text = ""
    batch: Count = None
    peak_bytes: Number = None
    temp_bytes: Number = None
    steady_s: Number = None
    examples_per_s: Number = None
    reason: Text = ""


class Largest(Part, frozen=True):
    """The largest batch of a mode under the limit, and its throughput there."""

    batch: Count = None
    examples_per_s: Number = None


class Batches(Part, frozen=True):
    limit_bytes: Number = None
    rows: Many[Batch] = ()
    largest: Named[Largest] = {}
    bytes_per_example: Named[Number] = {}


class Rate(Part, frozen=True):
    bytes_per_s: Number = None
    flops_per_s: Number = None
    by: Text = ""
    working_set_bytes: Number = None


class Limits(Part, frozen=True):
    """Of the machine, on so many threads."""

    read: Rate | None = None
    copy: Rate | None = None
    triad: Rate | None = None
    gemm: Named[Rate] = {}


class Entry(Part, frozen=True):
    """Seconds of one call of x + 1 on eight elements. `concrete_s`: None where a mode has no code to call itself."""

    public_s: Number = None
    concrete_s: Number = None
