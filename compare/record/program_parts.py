"""Programs as handed to XLA, and what XLA made of them."""

from __future__ import annotations

from compare.record.base import Count, Many, Named, Number, Numbers, Part, Text, Texts


class Written(Part, frozen=True):
    """A program as handed to XLA."""

    instructions: Count = None
    opcodes: Named[int] = {}
    sha256: Text = ""
    text: Text = ""


class KernelTime(Part, frozen=True):
    """Of a kernel, of a source line, or of a run of small kernels."""

    name: Text = ""
    source: Text = ""
    seconds: Number = None
    calls: Number = None
    share: Number = None
    opcode: Text = ""
    names: Texts = ()
    sources: Texts = ()


class Compiled(Part, frozen=True):
    instructions: Count = None
    fusions: Count = None
    kernels: Count = None
    kernel_names: Texts = ()
    temp_bytes: Count = None
    flops: Number = None
    bytes: Number = None
    compile_s: Number = None
    text: Text = ""
    error: Number = None
    usual_error: Number = None
    times: Many[KernelTime] = ()
    lines: Many[KernelTime] = ()
    small_runs: Many[KernelTime] = ()
    same_as: Text = ""
    reason: Text = ""


class Profile(Part, frozen=True):
    kernels: Count = None
    names: Texts = ()
    seconds: Numbers = ()
    times: Many[KernelTime] = ()
    small_runs: Many[KernelTime] = ()
    same_as: Text = ""
    """The mode that this one is: nothing of its own was compiled."""
    reason: Text = ""
