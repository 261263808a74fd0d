"""One workload: all that a run says of it."""

from __future__ import annotations

from compare.record.alignment_part import Alignment, Compilers
from compare.record.base import Count, Many, Named, Number, Numbers, Part, Scalar, Text, Texts
from compare.record.clustering_part import ClusteredShare
from compare.record.cost_parts import Batches, Peer, Phases, Roofline
from compare.record.ledger_part import RecompilationLedger
from compare.record.parity_part import Parity
from compare.record.program_parts import Compiled, Profile, Written
from compare.record.target_part import Target
from compare.record.timing_part import Attribution, Timing


class Cost(Part, frozen=True):
    """The declared cost of one call: of the training step, or the forward pass if there is none."""

    flops: Number = None
    """Floating-point operations."""
    bytes: Number = None
    """Bytes read and written."""
    source: Text = ""
    """How both were counted."""


class Failure(Part, frozen=True):
    """A result that is missing."""

    side: Text = ""
    """Whose: tf, jax, or both sides."""
    doing: Text = ""
    """The request."""
    reason: Text = ""
    """Why it is missing."""
    mode: Text = ""
    """The side's mode whose result it is; empty where it is that of none alone."""
    of_pass: Text = ""
    """The pass that it belongs to; empty where it is that of none alone."""
    lost: bool = False
    """Whether there was no answer: the worker did not start, ended, or took too long."""


class Trajectory(Part, frozen=True):
    """A training run in float32."""

    loss: Numbers = ()
    """By step."""


class Workload(Part, frozen=True):
    """All that a run says of one workload."""

    summary: Text = ""
    """One line on it."""
    source: Text = ""
    """Where it was taken from."""
    size: Text = ""
    """The size that was compiled and timed."""
    parity_size: Text = ""
    """The size that parity was judged at."""
    node: Text = ""
    """The node of the record that judged and timed it; empty on a single machine."""
    lost_on: Texts = ()
    """Nodes that it was given to before, and lost on."""
    dimensions: Named[Scalar] = {}
    """By name, at `size`."""
    dtype: Text = ""
    """The dtype that the twins are written in."""
    inputs: Named[str] = {}
    """Dtype and shape by input."""
    sha256: Text = ""
    """Digest of all arrays that both sides were given."""
    main_pass: Text = ""
    """The pass that was compiled, profiled and timed: forward, gradients, step or unrolled; empty in older records."""
    unrolled: Count = None
    """Training steps in one program, where times are then those of one step; null where it holds one at most."""
    passes: Texts = ()
    """The passes that both sides have."""
    cost: Cost | None = None
    """Null where the workload declares none."""
    failures: Many[Failure] = ()
    """Missing results."""
    parity: Parity | None = None
    """Null where nothing was judged."""
    programs: Named[Written] = {}
    """By side, as handed to XLA."""
    stages: Named[Named[str]] = {}
    """By side, the framework's own texts: stablehlo, hlo, optimized_hlo, and JAX's jaxpr."""
    alignment: Alignment | None = None
    """Null where a program is missing."""
    compiled: Named[Compiled] = {}
    """By program@compiler."""
    targets: Named[Target] = {}
    """By device that both programs were compiled for."""
    profile: Named[Profile] = {}
    """By mode."""
    trajectory: Named[Trajectory] = {}
    """By mode."""
    compiler_options: Named[Scalar] = {}
    """The compiler options of jax/tuned."""
    timing: Timing | None = None
    """Null where nothing was timed."""
    attribution: Attribution | None = None
    """Null where a time is missing or a ratio is withheld."""
    compilers: Compilers | None = None
    """The differences behind the attribution."""
    by_threads: Named[Timing] = {}
    """By number of threads, where several were asked for."""
    peers: Named[Peer] = {}
    """By name."""
    roofline: Roofline | None = None
    """Null where no limit was measured."""
    phases: Named[Phases] = {}
    """By mode."""
    batches: Batches | None = None
    """Null where no batch sizes were asked for."""
    clustering: ClusteredShare | None = None
    """Null where autoclustering was not asked."""
    recompilation: RecompilationLedger | None = None
    """Calls at two sizes of the named dimensions by turns; null where none were made."""
