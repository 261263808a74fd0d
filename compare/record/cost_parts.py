"""Measurements besides ratios: peers, the roofline, phases, batches, and the machine's limits."""

from __future__ import annotations

from typing import Literal

from compare.record.base import Count, Many, Named, Number, Part, Text, Texts, Verdict


class PeerGate(Part, frozen=True):
    """The verdict of one gate on a peer."""

    verdict: Verdict = None
    """Pass, fail or not_applicable."""
    message: Text = ""
    """The first comparison that fails, or why there is none."""


class Peer(Part, frozen=True):
    """Another way to run the original in JAX."""

    verdict: Literal["pass", "fail", "unavailable"] | None = None
    """The verdict of all gates; unavailable if it cannot run."""
    reason: Text = ""
    """Why it fails or is unavailable, or is not timed."""
    gates: Named[PeerGate] = {}
    """By gate."""
    version: Text = ""
    """Name and version of its package."""
    passes: Texts = ()
    """The passes that it was judged on."""


class Share(Part, frozen=True):
    """How near a mode comes to the limit."""

    share: Number = None
    """The limit's seconds over the mode's: 1 is as fast as the machine allows."""
    note: Text = ""
    """A qualification of it."""


class Roofline(Part, frozen=True):
    """The limits of the machine on a workload, and the one that binds."""

    reason: Text = ""
    """Why nothing else is here: the declared cost is that of another pass."""
    threads: Count = None
    """The threads of all measurements."""
    working_set_bytes: Number = None
    """Bytes that one call reads and writes."""
    kind: Text = ""
    """The kind of traffic of the bandwidth: read, copy or triad."""
    bandwidth_bytes_per_s: Number = None
    """Bytes a second at this working set."""
    bandwidth_by: Text = ""
    """The program that reached it."""
    bounds: Named[Number] = {}
    """Least seconds of a call by memory_s, compute_s and dispatch_s; null where not measured."""
    bound: Text = ""
    """The largest of them: memory, compute or dispatch."""
    limit_s: Number = None
    """Its seconds."""
    modes: Named[Share] = {}
    """By mode."""


class Stages(Part, frozen=True):
    """The costs of one mode in a fresh process, or the median of several. None if the framework does not report it.

    `first_call_s` is what a user waits for until the first result: trace, lower, compile and run. `steady_s` is the
    median of the calls after it. With `compile_derived` nobody timed the compiler: `compile_s` is what the first call
    took beyond lowering and one steady call. `baseline_rss_bytes` is held before the twin is built,
    `peak_rss_bytes` at most since the mode was prepared, the compiler at work included.
    """

    import_s: Number = None
    """Seconds to import the framework."""
    load_s: Number = None
    """Seconds to build the twin and take its arrays."""
    trace_s: Number = None
    """Seconds to trace."""
    lower_s: Number = None
    """Seconds to lower to StableHLO."""
    compile_s: Number = None
    """Seconds to compile."""
    compile_derived: bool | None = None
    """Whether compiling was not timed apart: the first call beyond lowering and one steady call."""
    first_call_s: Number = None
    """Seconds until the first result: trace, lower, compile and run."""
    steady_s: Number = None
    """Seconds of a call after it, the median."""
    baseline_rss_bytes: Number = None
    """Bytes of physical memory before the twin was built."""
    peak_rss_bytes: Number = None
    """Bytes of physical memory at most since the mode was prepared."""


class Cache(Part, frozen=True):
    """The entries of one process in an empty compilation cache; `reason` says why they help no later process."""

    entries: Count = None
    """Files."""
    bytes: Count = None
    """Their bytes."""
    reason: Text = ""
    """Why it helps no later process."""


class Memory(Part, frozen=True):
    """The compiler's plan of memory for one call."""

    argument_bytes: Number = None
    """Bytes of the arguments."""
    output_bytes: Number = None
    """Bytes of the results."""
    temp_bytes: Number = None
    """Bytes of intermediates."""
    alias_bytes: Number = None
    """Bytes of results that overwrite an argument."""


class Phases(Part, frozen=True):
    """One mode: medians over `processes` fresh processes without a compilation cache, and as many with a filled one.

    `code_bytes` are those of the object files that XLA writes for the mode. Kernels inside a library that the program
    calls have none, nor have the framework's own; `code_reason` says so where none is left.
    """

    cold: Stages | None = None
    """Without a compilation cache."""
    cached: Stages | None = None
    """With a filled one; null where it keeps nothing."""
    cache: Cache | None = None
    """The entries that filled it."""
    memory: Memory | None = None
    """Null where the compiler does not tell."""
    code_bytes: Number = None
    """Bytes of the object files that XLA writes."""
    code_reason: Text = ""
    """Why there are none."""
    processes: Count = None
    """Behind each median."""


class Batch(Part, frozen=True):
    """One mode at one batch size, in a fresh process."""

    mode: Text = ""
    """SIDE/MODE."""
    batch: Count = None
    """Examples in a batch."""
    peak_bytes: Number = None
    """Bytes of physical memory at most, less those held before the mode was prepared."""
    temp_bytes: Number = None
    """Bytes that the compiler plans for intermediates."""
    steady_s: Number = None
    """Seconds of a call, the median."""
    examples_per_s: Number = None
    """Examples a second."""
    reason: Text = ""
    """Why there are no figures."""


class LargestBatch(Part, frozen=True):
    """The largest batch of a mode below the memory limit."""

    batch: Count = None
    """Examples in it."""
    examples_per_s: Number = None
    """Examples a second at that size."""


class Batches(Part, frozen=True):
    """Memory and throughput by batch size."""

    limit_bytes: Number = None
    """The requested limit of memory in bytes."""
    rows: Many[Batch] = ()
    """One a mode and batch size."""
    largest: Named[LargestBatch] = {}
    """By mode, below the limit; null where none fits."""
    bytes_per_example: Named[Number] = {}
    """By mode, bytes that the peak grows by with each further example; null with fewer than two peaks. What a mode
    holds whatever the batch (weights, the compiler) is not in it."""


class Bandwidth(Part, frozen=True):
    """The most that was moved between memory and processor, as the program states its bytes.

    What a processor reads before it writes (write-allocate) is not counted, nor is what a cache spares.
    """

    bytes_per_s: Number = None
    """Bytes read plus bytes written, a second."""
    by: Text = ""
    """The program that reached it."""
    working_set_bytes: Number = None
    """Bytes that were moved in one call."""


class Throughput(Part, frozen=True):
    """The most that was computed in matrix products of one dtype."""

    flops_per_s: Number = None
    """Floating-point operations a second, 2mnk a product."""
    by: Text = ""
    """The program that reached it."""


class Limits(Part, frozen=True):
    """The limits of the machine, on `threads` threads."""

    threads: Count = None
    """The threads of all measurements."""
    read: Bandwidth | None = None
    """Reading alone."""
    copy: Bandwidth | None = None
    """The bandwidth of a copy: equal reads and writes."""
    triad: Bandwidth | None = None
    """One array written for two that are read."""
    gemm: Named[Throughput] = {}
    """By dtype as HLO writes it: f32, bf16; tf32 is f32 that a GPU may round to TensorFloat-32."""


class SizedCall(Part, frozen=True):
    """One call of a compiled sum of two arrays of float32."""

    elements: Count = None
    """Elements of each array."""
    seconds: Number = None
    """Seconds of a call: the median of the medians of several rounds."""
    threads: Count = None
    """Threads that computed in these calls; null if the platform does not count them."""


class Handover(Part, frozen=True):
    """Whether a side's XLA hands even short computations to other threads from some size on, and what that costs."""

    points: Many[SizedCall] = ()
    """All that was measured, by size."""
    below: SizedCall | None = None
    """The largest size of those that one thread computed; null where no size parts them."""
    above: SizedCall | None = None
    """The smallest size from which on several threads computed, and every call took longer."""
    reason: Text = ""
    """Why no size parts them."""


class Entry(Part, frozen=True):
    """Seconds of one call of x + 1 on eight elements. `concrete_s`: None where a mode has no code to call itself."""

    public_s: Number = None
    """Seconds through the public call."""
    concrete_s: Number = None
    """Seconds of the compiled code itself; null where a mode has none to call."""
