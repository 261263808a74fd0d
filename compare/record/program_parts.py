"""Programs as handed to XLA, and what XLA made of them."""

from __future__ import annotations

from compare.record.base import Count, Many, Named, Number, Numbers, Part, Text, Texts


class Written(Part, frozen=True):
    """A program as handed to XLA."""

    instructions: Count = None
    """Operations, without those that only hold others."""
    opcodes: Named[int] = {}
    """How many of each opcode."""
    sha256: Text = ""
    """Digest of its text, constants included."""
    text: Text = ""
    """Its StableHLO, large constants left out."""


class KernelTime(Part, frozen=True):
    """All runs of one kernel in one call."""

    name: Text = ""
    """The kernel's name."""
    seconds: Number = None
    """Seconds of all its runs together."""
    calls: Number = None
    """How often it runs in one call."""
    share: Number = None
    """The share of the time of all kernels."""
    opcode: Text = ""
    """The opcode of its instruction; empty if the module has none of that name."""
    sources: Texts = ()
    """FILE:LINE of what it computes."""
    phase: Text = ""
    """The phase of a training step: forward, backward, optimizer, or "backward and optimizer"; empty if unknown."""


class LineTime(Part, frozen=True):
    """A source line."""

    source: Text = ""
    """FILE:LINE."""
    seconds: Number = None
    """Seconds of its kernels; the time of a kernel of several lines counts for each of them."""
    kernels: Texts = ()
    """The kernels that compute it."""


class SmallRun(Part, frozen=True):
    """Small kernels one after the other: candidates to compile together."""

    first: Count = None
    """The place of the first in the profile."""
    names: Texts = ()
    """The kernels."""
    seconds: Number = None
    """Seconds of all of them."""
    sources: Texts = ()
    """FILE:LINE of what they compute."""


class CustomCall(Part, frozen=True):
    """Code that XLA did not write: a custom call, or a fusion that is handed to a library."""

    name: Text = ""
    """The name of the instruction."""
    target: Text = ""
    """The callee."""
    library: Text = ""
    """Whose it is; empty where that is not known."""
    source: Text = ""
    """FILE:LINE."""


class LayoutCopy(Part, frozen=True):
    """A copy, transpose or bitcast that changes the order or the dimensions of elements."""

    name: Text = ""
    """The name of the instruction."""
    opcode: Text = ""
    """Copy, transpose or bitcast."""
    before: Text = ""
    """Shape and layout, as HLO writes it."""
    after: Text = ""
    """Shape and layout, as HLO writes it."""
    bytes: Count = None
    """Bytes that are written; 0 for a bitcast."""
    source: Text = ""
    """FILE:LINE."""


class Convert(Part, frozen=True):
    """A conversion between dtypes."""

    name: Text = ""
    """The name of the instruction."""
    before: Text = ""
    """Dtype, as HLO writes it."""
    after: Text = ""
    """Dtype, as HLO writes it."""
    elements: Count = None
    """The number of converted elements."""
    source: Text = ""
    """FILE:LINE."""


class Alias(Part, frozen=True):
    """A result that overwrites a parameter."""

    result: Count = None
    """Its position."""
    parameter: Count = None
    """Its position."""
    kind: Text = ""
    """May-alias or must-alias."""


class Compiled(Part, frozen=True):
    """An optimized module: one program compiled by one side's XLA."""

    instructions: Count = None
    """Instructions of all computations."""
    fusions: Count = None
    """Fusion instructions."""
    kernels: Count = None
    """Instructions that run code; a loop's body counts once."""
    kernel_names: Texts = ()
    """Their names."""
    flops: Number = None
    """Operations of a call, as XLA counts them."""
    bytes: Number = None
    """Bytes of a call read and written, as XLA counts them."""
    text: Text = ""
    """Its HLO."""
    custom_calls: Many[CustomCall] = ()
    """Code of libraries."""
    layout_copies: Many[LayoutCopy] = ()
    """Changes of layout."""
    converts: Many[Convert] = ()
    """Conversions between dtypes."""
    aliases: Many[Alias] = ()
    """Results that overwrite a parameter."""
    asks: Named[int] = {}
    """By type as HLO writes it, instructions of the program as written that compute in it; empty of a program that asks
    for no float narrower than 32 bits."""
    computes: Named[int] = {}
    """The types that the optimized module computes in: it emulates types that are missing here."""
    temp_bytes: Count = None
    """Bytes of intermediates, as the compiler plans them."""
    executable_bytes: Count = None
    """Bytes of the serialized executable, with machine code; null if the framework does not serialize it."""
    compile_s: Number = None
    """Seconds to compile."""
    times: Many[KernelTime] = ()
    """By kernel, longest first."""
    lines: Many[LineTime] = ()
    """By source line, longest first."""
    small_runs: Many[SmallRun] = ()
    """Candidates to compile together."""
    times_reason: Text = ""
    """Why there are no times."""
    error: Number = None
    """The largest, relative to the largest value of a result."""
    usual_error: Number = None
    """The error without half of the results, if there are ten or more."""
    held_against: Text = ""
    """The reference of these errors: tf@tf, or TensorFlow's program in float64."""
    reason: Text = ""
    """Why there is no module."""


class Profile(Part, frozen=True):
    """The profile of one call of a mode."""

    kernels: Count = None
    """The number of kernels that ran."""
    names: Texts = ()
    """Every kernel in the order in which they ran."""
    seconds: Numbers = ()
    """Seconds of each of these; empty without times."""
    times: Many[KernelTime] = ()
    """By kernel, longest first."""
    small_runs: Many[SmallRun] = ()
    """Candidates to compile together."""
    same_as: Text = ""
    """The mode that this one is: nothing of its own was compiled."""
    reason: Text = ""
    """Why there is no profile."""
