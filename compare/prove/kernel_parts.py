"""Converts the times of kernels into parts of a record."""

from __future__ import annotations

from collections.abc import Iterable

from compare.hlo import kernel_times
from compare.record.program_parts import KernelTime, LineTime, SmallRun


def times(kernels: Iterable[kernel_times.LocatedKernel]) -> tuple[KernelTime, ...]:
    """The times by kernel."""
    return tuple(
        KernelTime(
            name=kernel.name,
            seconds=kernel.seconds,
            calls=kernel.calls,
            share=kernel.share,
            opcode=kernel.opcode,
            sources=kernel.sources,
            phase=kernel.phase,
        )
        for kernel in kernels
    )


def lines(kernels: Iterable[kernel_times.LocatedKernel]) -> tuple[LineTime, ...]:
    """The times by source line."""
    return tuple(
        LineTime(source=line.source, seconds=line.seconds, kernels=line.kernels)
        for line in kernel_times.lines(tuple(kernels))
    )


def small_runs(profile: kernel_times.Profile, kernels: Iterable[kernel_times.LocatedKernel]) -> tuple[SmallRun, ...]:
    """The runs of small kernels, one after the other."""
    return tuple(
        SmallRun(first=run.first, names=run.names, seconds=run.seconds, sources=run.sources)
        for run in kernel_times.small_runs(profile, tuple(kernels))
    )
