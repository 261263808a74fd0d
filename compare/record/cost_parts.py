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
    kind: Text = ""
    bandwidth_bytes_per_s: Number = None
    bandwidth_by: Text = ""
    bounds: Named[Number] = {}
    bound: Text = ""
    limit_s: Number = None
    modes: Named[Share] = {}


class Stages(Part, frozen=True):
    """What a mode costs a process of its own."""

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
    entries: Count = None
    bytes: Count = None
    reason: Text = ""


class Memory(Part, frozen=True):
    argument_bytes: Number = None
    output_bytes: Number = None
    temp_bytes: Number = None
    alias_bytes: Number = None


class Phases(Part, frozen=True):
    cold: Stages | None = None
    cached: Stages | None = None
    cache: Cache | None = None
    memory: Memory | None = None
    code_bytes: Number = None
    code_reason: Text = ""
    processes: Count = None


class Batch(Part, frozen=True):
    mode: Text = ""
    batch: Count = None
    peak_bytes: Number = None
    temp_bytes: Number = None
    steady_s: Number = None
    examples_per_s: Number = None
    reason: Text = ""


class Batches(Part, frozen=True):
    limit_bytes: Number = None
    rows: Many[Batch] = ()
    largest: Named[Batch] = {}
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
    public_s: Number = None
    concrete_s: Number = None
