"""The types of what results.json has of times and the machine, and what all of its types are made of."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec

_Value = TypeVar("_Value")

Number = float | Literal["inf", "-inf", "nan"] | None
"""What is not finite is written as a string."""
Count = Annotated[int, msgspec.Meta(ge=0)] | None
Text = str | None
Texts = list[str] | None
Named = dict[str, _Value | None] | None
Scalar = str | float | bool | None
Verdict = Literal["pass", "fail", "not_applicable"] | None


class Part(msgspec.Struct, frozen=True):
    """Any part of a record: nothing in it must be there."""


class Mode(Part, frozen=True):
    median_s: Number = None
    first_call_s: Number = None
    trace_s: Number = None
    lower_s: Number = None
    compile_s: Number = None
    peak_rss_bytes: Number = None
    page_faults: Number = None


Interval = tuple[Number, Number] | None


class Ratio(Part, frozen=True):
    ratio: Number = None
    ci95: Interval = None
    ci99: Interval = None
    verdict: Text = None
    pairs: Count = None
    rounds: Count = None
    between_pair_share: Number = None
    withheld: Text = None
    note: Text = None


class Power(Part, frozen=True):
    planted: Named[Ratio] = None
    smallest: Named[Number] = None


class Bound(Part, frozen=True):
    processors: list[int] | None = None
    parallelism: Number = None


class Threads(Part, frozen=True):
    asked: Count = None
    sides: Named[Bound] = None
    equal: bool | None = None
    reason: Text = None


class Timing(Part, frozen=True):
    modes: Named[Mode] = None
    cells: Named[Mode] = None
    ratios: Named[Ratio] = None
    null: Named[Ratio] = None
    margin: Number = None
    power: Power | None = None
    threads: Threads | None = None


class PeerGate(Part, frozen=True):
    verdict: Verdict = None
    message: Text = None


class Peer(Part, frozen=True):
    verdict: Literal["pass", "fail", "unavailable"] | None = None
    reason: Text = None
    gates: Named[PeerGate] = None
    version: Text = None
    passes: Texts = None


class Share(Part, frozen=True):
    share: Number = None
    note: Text = None


class Roofline(Part, frozen=True):
    threads: Count = None
    working_set_bytes: Number = None
    kind: Text = None
    bandwidth_bytes_per_s: Number = None
    bandwidth_by: Text = None
    bounds: Named[Number] = None
    bound: Text = None
    limit_s: Number = None
    modes: Named[Share] = None


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
    reason: Text = None


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
    code_reason: Text = None
    processes: Count = None


class Batch(Part, frozen=True):
    mode: Text = None
    batch: Count = None
    peak_bytes: Number = None
    temp_bytes: Number = None
    steady_s: Number = None
    examples_per_s: Number = None
    reason: Text = None


class Batches(Part, frozen=True):
    limit_bytes: Number = None
    rows: list[Batch | None] | None = None
    largest: Named[Batch] = None
    bytes_per_example: Named[Number] = None


class Rate(Part, frozen=True):
    bytes_per_s: Number = None
    flops_per_s: Number = None
    by: Text = None
    working_set_bytes: Number = None


class Limits(Part, frozen=True):
    """Of the machine, on so many threads."""

    read: Rate | None = None
    copy: Rate | None = None
    triad: Rate | None = None
    gemm: Named[Rate] = None


class Entry(Part, frozen=True):
    public_s: Number = None
    concrete_s: Number = None
