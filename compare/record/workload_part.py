"""One workload: all that a run says of it."""

from __future__ import annotations

from compare.record.alignment_part import Alignment, Compilers
from compare.record.base import Many, Named, Number, Numbers, Part, Scalar, Text
from compare.record.cost_parts import Batches, Peer, Phases, Roofline
from compare.record.parity_part import Parity
from compare.record.program_parts import Compiled, Profile, Written
from compare.record.timing_part import Timing


class Cost(Part, frozen=True):
    flops: Number = None
    bytes: Number = None
    source: Text = None


class Failure(Part, frozen=True):
    side: Text = None
    doing: Text = None
    reason: Text = None


class Trajectory(Part, frozen=True):
    loss: Numbers = ()


class Workload(Part, frozen=True):
    summary: Text = None
    source: Text = None
    size: Text = None
    parity_size: Text = None
    dimensions: Named[Scalar] = {}
    dtype: Text = None
    inputs: Named[str] = {}
    cost: Cost | None = None
    sha256: Text = None
    failures: Many[Failure] = ()
    parity: Parity | None = None
    programs: Named[Written] = {}
    stages: Named[Named[str]] = {}
    alignment: Alignment | None = None
    compilers: Compilers | None = None
    compiled: Named[Compiled] = {}
    profile: Named[Profile] = {}
    trajectory: Named[Trajectory] = {}
    compiler_options: Named[Scalar] = {}
    timing: Timing | None = None
    by_threads: Named[Timing] = {}
    peers: Named[Peer] = {}
    roofline: Roofline | None = None
    phases: Named[Phases] = {}
    batches: Batches | None = None
    attribution: Named[Number] = {}
