"""The gain of each pass and feature of XLA: all measurements again without one of them."""

from __future__ import annotations

from compare.record.base import Count, Many, Named, Number, Part, Scalar, Text, Texts
from compare.record.timing_part import Ratio

COMPARED, SAME_CODE, NOT_RUN, KEPT, REFUSED, LOST = (
    *("compared", "same code", "changed nothing", "cannot be left out", "refused", "crashed"),
)
"""Outcomes of an omission: only the first has figures of its own."""

BIT_EQUAL, GATES_HOLD, GATES_FAIL, UNJUDGED, UNSTEADY = (
    *("bit-equal", "other bits, gates pass", "gates fail", "other bits, not judged", "no two runs agree"),
)
"""How results compare with those of the full pipeline."""


class AblatedKernel(Part, frozen=True):
    """The code that XLA wrote for one kernel; what a library computes has none."""

    kernel: Text = ""
    """The name in the optimized module."""
    vector: Text = ""
    """The type that its busiest loop computes in: "8 x float", or "float" where that is no vector."""
    width: Count = None
    """Elements of that vector; 1 without one."""
    unroll: Count = None
    """Vectors that one turn of the loop handles; null where the loop does not say, or there is none."""
    fused: Count = None
    """Multiply-adds that are one instruction; null where nothing disassembles."""
    arithmetic: Count = None
    """Instructions of floating-point arithmetic, these among them."""


class AblatedProgram(Part, frozen=True):
    """The program as one compilation made it."""

    kernels_run: Count = None
    """Kernels in a profiled call."""
    kernels: Count = None
    """In the optimized module, a loop's once."""
    fusions: Count = None
    """In the optimized module."""
    bytes: Number = None
    """Read and written, by XLA's own cost analysis."""
    flops: Number = None
    """Floating-point operations, by the same."""
    temp_bytes: Count = None
    """Set aside for intermediates."""
    code_bytes: Count = None
    """Bytes of the serialized executable."""
    compile_s: Number = None
    """Seconds of this one compilation, with a dump."""
    seconds: Number = None
    """Seconds of a call: the median over processes of their medians; null if it was not timed."""
    codes: Many[AblatedKernel] = ()
    """The kernels that XLA wrote code for."""


class LeftOut(Part, frozen=True):
    """The program without one pass or feature."""

    name: Text = ""
    """The pass, or the option as XLA_FLAGS would say it."""
    is_pass: bool = False
    """Whether it is a pass, which `xla_disable_hlo_passes` names."""
    says: Text = ""
    """Its purpose; empty if unknown."""
    options: Named[Scalar] = {}
    """Compiler options that leave it out."""
    outcome: Text = ""
    """Compared, same code, changed nothing, cannot be left out, refused or crashed."""
    reason: Text = ""
    """Why there are no figures."""
    made: AblatedProgram | None = None
    """Null where there are none."""
    time: Ratio | None = None
    """Time without it over time with it: above 1 it is worth having."""
    untimed: Text = ""
    """Why there is no time of what was compiled."""
    results: Text = ""
    """How they compare with those of the full pipeline."""
    difference: Number = None
    """The largest, relative to the largest value of its array."""
    gate: Text = ""
    """The message of the first gate that fails, or why none was judged."""


class Ablation(Part, frozen=True, rename={"pass_": "pass"}):
    """One program, whole and with one pass or feature left out at a time."""

    program: Text = ""
    """Whose it is: jax or tf."""
    size: Text = ""
    """The size that it is compiled at."""
    pass_: Text = ""
    """Forward or step."""
    dimensions: Named[Scalar] = {}
    """The dimensions of that size."""
    environment: Named[Scalar] = {}
    """Versions and device."""
    threads: Count = None
    """Threads of every process."""
    passes: Texts = ()
    """The passes that changed the program, in the order of their first changes."""
    full: AblatedProgram | None = None
    """The program by the full pipeline."""
    rows: Many[LeftOut] = ()
    """The omissions."""
    null: Ratio | None = None
    """A second copy of the full pipeline's code against the first; null where nothing was timed."""
    disassembler: Text = ""
    """The program that read the machine code; empty without one."""
    reason: Text = ""
    """Why gates could not be asked: the port itself fails."""
