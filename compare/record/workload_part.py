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
    source: Text = ""


class Failure(Part, frozen=True):
    side: Text = ""
    doing: Text = ""
    reason: Text = ""


class Trajectory(Part, frozen=True):
    loss: Numbers = ()


class Workload(Part, frozen=True):
    summary: Text = ""
    source: Text = ""
    size: Text = ""
    parity_size: Text = ""
    dimensions: Named[Scalar] = {}
    dtype: Text = ""
    inputs: Named[str] = {}
    cost: Cost | None = None
    sha256: Text = ""
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
