"""Both programs compiled for a device that may be absent: counts and bounds, never a time."""

from __future__ import annotations

from compare.record.base import Count, Indices, Many, Named, Number, Part, Text, Texts


class Launch(Part, frozen=True):
    """One thing that the runtime hands to a GPU in a call."""

    kernel: Text = ""
    """The entry in the PTX; empty where the kernel is not XLA's own."""
    kind: Text = ""
    """The kind of its thunk, as XLA names it."""
    instruction: Text = ""
    """The instruction of the optimized module that it computes."""
    library: Text = ""
    """Whose kernel it is; empty where it is XLA's own."""
    grid: Indices = ()
    """Blocks by axis."""
    threads: Indices = ()
    """Threads of a block by axis."""
    registers: Count = None
    """Registers of a thread."""
    spill_bytes: Count = None
    """Bytes of a thread that are stored in memory for lack of registers."""
    shared_memory_bytes: Count = None
    """Shared memory of a block, static and dynamic."""
    occupancy: Number = None
    """Warps that a multiprocessor can hold at once, over those that fit at most."""
    limited_by: Text = ""
    """The limiting resource: threads, blocks, registers or shared memory."""
    filled: Number = None
    """The share of the multiprocessors that get a block."""
    bytes: Number = None
    """Bytes that it reads and writes, by the shapes of its operands and results."""
    sources: Texts = ()
    """FILE:LINE of what it computes."""


class OnTarget(Part, frozen=True):
    """One program compiled for a device."""

    kernels: Count = None
    """Operations of the module that run code."""
    launches: Count = None
    """The launches of a GPU's runtime: an operation may take many. A loop's body counts once."""
    fusions: Count = None
    """Fusion instructions."""
    temp_bytes: Count = None
    """Bytes of intermediates."""
    peak_bytes: Count = None
    """Bytes of arguments, results, intermediates and code together."""
    library_calls: Named[int] = {}
    """By library, calls of it."""
    flops: Number = None
    """Operations of the program as its frontend wrote it."""
    bytes: Number = None
    """Bytes that the module's operations read and write."""
    bound_s: Number = None
    """Seconds that a call takes at least: the larger of bytes over bandwidth, and operations over the peak."""
    bound_by: Text = ""
    """The bound: memory, or the peak of a type."""
    fits: bool | None = None
    """Whether `peak_bytes` are no more than the device has."""
    largest_batch: Count = None
    """The largest batch of a training step that was compiled and fits, if a search was requested."""
    too_large_batch: Count = None
    """The smallest that was compiled and does not fit; null where none was, since no larger inputs are drawn."""
    lowered_for: Text = ""
    """The platform that the frontend wrote the program for."""
    compile_s: Number = None
    """Seconds to compile."""
    launched: Many[Launch] = ()
    """In the order of the runtime."""
    notes: Texts = ()
    """Notes on what the figures do not show."""
    reason: Text = ""
    """Why there is no module."""


class Target(Part, frozen=True, rename={"tf": "tf@jax", "jax": "jax@jax"}):
    """One device, and both programs compiled for it by JAX's XLA."""

    tf: OnTarget | None = None
    """TensorFlow's program."""
    jax: OnTarget | None = None
    """JAX's program."""
    description: Text = ""
    """The device, as its vendor calls it."""
    source: Text = ""
    """Where its figures are published."""
    memory_bytes: Count = None
    """Memory of the device."""
    packages: Named[str] = {}
    """Versions of what compiled."""
    equal: bool | None = None
    """Whether both modules are the same at the level `optimized`."""
    differences: Texts = ()
    """In what both modules differ."""
    regrouped: Texts = ()
    """The kernels of one program that compute together what several of the other do."""
