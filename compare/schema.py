"""The types of results.json, schema 1: what pages read. A field may be missing or null, and others may stand beside.

docs/results.md says what each field holds.
"""

from __future__ import annotations

from typing import Any

import msgspec

from compare.schema_times import (
    Batches,
    Count,
    Entry,
    Limits,
    Named,
    Number,
    Part,
    Peer,
    Phases,
    Roofline,
    Scalar,
    Text,
    Texts,
    Timing,
    Verdict,
)


class Cost(Part, frozen=True):
    flops: Number = None
    bytes: Number = None
    source: Text = None


class Failure(Part, frozen=True):
    side: Text = None
    doing: Text = None
    reason: Text = None


class Comparison(Part, frozen=True, rename={"pass_": "pass"}):
    gate: Text = None
    pass_: Text = None
    case: Text = None
    leaf: Text = None
    dtype: Text = None
    found_from: Text = None
    expected_from: Text = None
    error: Number = None
    bound: Number = None
    noise: Number = None
    verdict: Verdict = None
    worst_index: list[Count] | None = None
    expected: Number = None
    found: Number = None
    message: Text = None


class Gate(Part, frozen=True):
    verdict: Verdict = None
    reason: Text = None
    comparisons: list[Comparison | None] | None = None


class Break(Part, frozen=True):
    pattern: Text = None
    magnitude: Number = None
    leaf: Text = None
    index: list[Count] | None = None
    found: Number = None
    original: Number = None
    exact: Number = None
    error: Number = None
    bound: Number = None
    operation: Text = None
    line: Text = None
    original_line: Text = None


class Call(Part, frozen=True):
    magnitude: Number = None
    said: Text = None


class Span(Part, frozen=True):
    pattern: Text = None
    low: Number = None
    high: Number = None
    calls: list[Call | None] | None = None
    breaks: list[Break | None] | None = None


class Reach(Part, frozen=True, rename={"pass_": "pass"}):
    input: Text = None
    pass_: Text = None
    verdict: Verdict = None
    spans: list[Span | None] | None = None
    worst: Break | None = None
    error: Number = None
    message: Text = None
    mode: Text = None


class AtSize(Part, frozen=True):
    dimensions: Named[int] = None
    verdict: Verdict = None
    reason: Text = None


class Parity(Part, frozen=True):
    verdict: Verdict = None
    gates: Named[Gate] = None
    oracle: Named[str] = None
    deviations: list[dict[str, Any] | None] | None = None
    reach: list[Reach | None] | None = None
    sizes: list[AtSize | None] | None = None

    def __post_init__(self) -> None:
        """Refuse a verdict that the gates contradict: the exit code rests on it.

        Raises:
          ValueError: a gate fails, and the verdict is pass.
        """
        failing = [name for name, gate in (self.gates or {}).items() if gate and gate.verdict == "fail"]
        if self.verdict == "pass" and failing:
            raise ValueError(f"verdict pass beside the failing gate {failing[0]}")


class Written(Part, frozen=True):
    """A program as handed to XLA."""

    instructions: Count = None
    opcodes: Named[int] = None
    sha256: Text = None
    text: Text = None


class Departure(Part, frozen=True):
    """One entry of an alignment's frontier."""

    side: Text = None
    op: Text = None
    name: Text = None
    source: Text = None
    reason: Text = None


class Level(Part, frozen=True):
    matched: Count = None
    left: Count = None
    right: Count = None
    equal: bool | None = None
    reason: Text = None


class Donated(Part, frozen=True):
    holds: bool | None = None
    donated: Count = None
    bytes_in_place: Count = None
    bytes_missed: Count = None
    missed: Texts = None


class Alignment(Part, frozen=True):
    level: Text = None
    matched: Count = None
    tf_only: Count = None
    jax_only: Count = None
    frontier: list[Departure | None] | None = None
    levels: Named[Level] = None
    donation: Named[Donated] = None


class Reason(Part, frozen=True):
    kind: Text = None
    text: Text = None
    sources: Texts = None


class Compilers(Part, frozen=True):
    frontend: list[Reason | None] | None = None
    compiler: list[Reason | None] | None = None
    partitions: Texts = None
    reason: Text = None


class KernelTime(Part, frozen=True):
    """Of a kernel, of a source line, or of a run of small kernels."""

    name: Text = None
    source: Text = None
    seconds: Number = None
    calls: Number = None
    share: Number = None
    opcode: Text = None
    names: Texts = None
    sources: Texts = None


Times = list[KernelTime | None] | None


class Compiled(Part, frozen=True):
    instructions: Count = None
    fusions: Count = None
    kernels: Count = None
    kernel_names: Texts = None
    temp_bytes: Count = None
    flops: Number = None
    bytes: Number = None
    compile_s: Number = None
    text: Text = None
    error: Number = None
    usual_error: Number = None
    times: Times = None
    lines: Times = None
    small_runs: Times = None
    same_as: Text = None
    reason: Text = None


class Profile(Part, frozen=True):
    kernels: Count = None
    names: Texts = None
    seconds: list[Number] | None = None
    times: Times = None
    small_runs: Times = None
    reason: Text = None


class Trajectory(Part, frozen=True):
    loss: list[Number] | None = None


class Workload(Part, frozen=True):
    summary: Text = None
    source: Text = None
    size: Text = None
    parity_size: Text = None
    dimensions: Named[Scalar] = None
    dtype: Text = None
    inputs: Named[str] = None
    cost: Cost | None = None
    sha256: Text = None
    failures: list[Failure | None] | None = None
    parity: Parity | None = None
    programs: Named[Written] = None
    stages: Named[Named[str]] = None
    alignment: Alignment | None = None
    compilers: Compilers | None = None
    compiled: Named[Compiled] = None
    profile: Named[Profile] = None
    trajectory: Named[Trajectory] = None
    compiler_options: Named[Scalar] = None
    timing: Timing | None = None
    by_threads: Named[Timing] = None
    peers: Named[Peer] = None
    roofline: Roofline | None = None
    phases: Named[Phases] = None
    batches: Batches | None = None
    attribution: Named[Number] = None


class Environment(Part, frozen=True):
    jaxport: Text = None
    python: Text = None
    platform: Text = None
    cpu: Text = None
    cores: Count = None
    sides: Named[dict[str, Any]] = None


class Schema(msgspec.Struct, frozen=True):
    """The one field that every version has."""

    schema: int


class Record(Schema, frozen=True):
    """A results.json whole."""

    workloads: dict[str, Workload | None]
    created: Text = None
    command: Texts = None
    size: Text = None
    environment: Environment | None = None
    machine: Named[Limits] = None
    dispatch: Named[Entry] = None
