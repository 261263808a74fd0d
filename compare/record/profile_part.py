"""The reading of a profile by `jaxport explain profile`: kernels with times, lines and phases, and pauses."""

from __future__ import annotations

from collections.abc import Mapping

from compare.record.base import Count, Many, Number, Part, Text, Texts

INSTRUCTION, DEVICE, NODE, EAGER = "instruction", "device", "node", "eager"

KINDS: Mapping[str, str] = {
    INSTRUCTION: "an HLO instruction that the host ran",
    DEVICE: "what a GPU ran",
    NODE: "a node of a TensorFlow graph",
    EAGER: "a TensorFlow operation that was called eagerly, its dispatch included",
}
"""The kinds of things with times in a profile."""


class ProfiledKernel(Part, frozen=True):
    """All runs of one kernel or operation in a profile."""

    name: Text = ""
    """The name of its HLO instruction, or else of its node, its operation or the kernel itself."""
    kind: Text = ""
    """One of KINDS."""
    module: Text = ""
    """The HLO module that it belongs to; empty of none."""
    opcode: Text = ""
    """The opcode of its instruction, or the type of its operation; empty if unknown."""
    op_name: Text = ""
    """The frontend's name of its operation."""
    phase: Text = ""
    """One of PHASES; empty where nothing tells it."""
    runs: Count = None
    seconds: Number = None
    """Seconds of all its runs, without the kernels that ran within it."""
    longest_s: Number = None
    """Seconds of the longest run."""
    share: Number = None
    """The share of the time of all kernels."""
    sources: Texts = ()
    """FILE:LINE of what it computes, those that most of it comes from first."""


class PhaseTime(Part, frozen=True):
    """All kernels of one phase."""

    phase: Text = ""
    """One of PHASES; empty of those of which nothing tells it."""
    kernels: Count = None
    seconds: Number = None
    share: Number = None
    """The share of the time of all kernels."""


class ProfiledLine(Part, frozen=True):
    """A source line; the time of a kernel of several lines counts for each of them."""

    source: Text = ""
    """FILE:LINE."""
    seconds: Number = None
    kernels: Texts = ()


class Pause(Part, frozen=True):
    """Time in which nothing ran, between two kernels."""

    before: Text = ""
    """The kernel that ended."""
    after: Text = ""
    """The kernel that started next."""
    times: Count = None
    seconds: Number = None
    """All times together."""
    host: Text = ""
    """The host's activity for most of it; empty if unknown."""
    host_s: Number = None
    """How long it was in that."""


class ReadProfile(Part, frozen=True):
    """One profile."""

    schema: Count = None
    files: Texts = ()
    span_s: Number = None
    """From the start of the first kernel to the end of the last."""
    busy_s: Number = None
    """Seconds in which at least one kernel ran."""
    kernels: Many[ProfiledKernel] = ()
    """Longest first."""
    phases: Many[PhaseTime] = ()
    """Longest first; empty where no operation is part of a gradient."""
    lines: Many[ProfiledLine] = ()
    """Longest first."""
    pauses: Many[Pause] = ()
    """Longest first."""
    notes: Texts = ()
    """Notes on what could not be read, and the consequences."""
