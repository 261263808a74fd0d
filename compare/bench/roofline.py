"""The roofline: what the machine allows, which part of it limits a workload, and how near it came. Arithmetic only.

Williams, Waterman, Patterson 2009, Roofline: An Insightful Visual Performance Model for Multicore
Architectures, https://doi.org/10.1145/1498765.1498785. The roofs are measured here, never a datasheet's.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from compare.record.base import require
from compare.record.cost_parts import Bandwidth, Limits, Roofline, Share

READ, TRIAD, COPY = "read", "triad", "copy"
WRITTEN_PARTS = {READ: 0.0, TRIAD: 1 / 3, COPY: 1 / 2}
"""The part of its traffic that each probe writes."""

MEMORY, COMPUTE, DISPATCH = "memory", "compute", "dispatch"


@dataclass(frozen=True)
class Work:
    """The work of one call: operations, and bytes as if no intermediate were written to memory."""

    flops: float
    bytes_read: float
    bytes_written: float
    dtype: str

    @property
    def bytes(self) -> float:
        """Both ways."""
        return self.bytes_read + self.bytes_written

    @property
    def kind(self) -> str:
        """The probe whose written part comes nearest."""
        part = self.bytes_written / self.bytes if self.bytes else 0.0
        return min(WRITTEN_PARTS, key=lambda kind: abs(WRITTEN_PARTS[kind] - part))


@dataclass(frozen=True)
class Bounds:
    """The least seconds that a call can take, by what takes them; None where that was not measured.

    The bounds overlap in time, so the largest is the one that limits.
    """

    memory_s: float
    compute_s: float | None
    dispatch_s: float | None

    @property
    def seconds_by_limit(self) -> dict[str, float]:
        """Seconds by name, of what was measured."""
        every = {MEMORY: self.memory_s, COMPUTE: self.compute_s, DISPATCH: self.dispatch_s}
        return {name: seconds for name, seconds in every.items() if seconds is not None}

    @property
    def bound(self) -> str:
        """The bound that limits: "memory", "compute" or "dispatch"."""
        return max(self.seconds_by_limit, key=self.seconds_by_limit.__getitem__)

    @property
    def limit_s(self) -> float:
        """Its seconds."""
        return self.seconds_by_limit[self.bound]


def bandwidth_of(limits: Limits, kind: str) -> Bandwidth | None:
    """The bandwidth of one kind of traffic: read, copy or triad; None where it was not measured."""
    return {READ: limits.read, COPY: limits.copy, TRIAD: limits.triad}[kind]


def best(amounts: Mapping[str, float]) -> tuple[float, str]:
    """The largest amount a second, and whose it is.

    Best and not typical: a limit is what cannot be exceeded, and others on the machine only ever slow a probe
    down. A time that is compared with another is never treated so.
    """
    by = max(amounts, key=amounts.__getitem__)
    return amounts[by], by


def rate(amount: float, rounds: Sequence[Sequence[float]]) -> float:
    """An amount a second: of the rounds' median times the shortest, which a single lucky call does not decide."""
    return amount / min(statistics.median(seconds) for seconds in rounds)


def bounds(work: Work, limits: Limits, bandwidth: Bandwidth, dispatch_s: float | None) -> Bounds:
    """The bounds of one call.

    Args:
      bandwidth: of `work.kind` at the working set of the call: what lies in a cache moves faster.
      dispatch_s: what a call costs that computes next to nothing.
    """
    # Where float32 may be rounded to TensorFloat-32, what it computes is bounded by those products.
    product = limits.gemm.get("tf32") if work.dtype == "f32" else None
    product = product or limits.gemm.get(work.dtype)
    compute_s = work.flops / require(product.flops_per_s) if product else None
    return Bounds(work.bytes / require(bandwidth.bytes_per_s), compute_s, dispatch_s)


def share(limit_s: float, median_s: float) -> Share:
    """The part of the limit that was achieved. Above 1 it stays so, and the note says what that means."""
    fraction = limit_s / median_s
    beyond = f"{fraction:.2f} times as fast as the limit: the probe did not reach what this machine allows"
    return Share(share=fraction, note=beyond if fraction > 1 else "")


def place(
    work: Work,
    medians: Mapping[str, float],
    limits: Limits,
    bandwidth: Bandwidth,
    dispatch_s: float | None,
) -> Roofline:
    """Where a workload lies under the limits.

    Args:
      medians: seconds of a call by mode.
      dispatch_s: what a call costs that computes next to nothing.
    """
    least = bounds(work, limits, bandwidth, dispatch_s)
    return Roofline(
        threads=limits.threads,
        working_set_bytes=round(work.bytes),
        bandwidth_bytes_per_s=bandwidth.bytes_per_s,
        bandwidth_by=bandwidth.by,
        kind=work.kind,
        bounds=asdict(least),
        bound=least.bound,
        limit_s=least.limit_s,
        modes={mode: share(least.limit_s, median_s) for mode, median_s in medians.items()},
    )
