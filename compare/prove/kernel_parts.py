"""Where the time of a call goes, as a record has it."""

from __future__ import annotations

from collections.abc import Iterable

from compare.hlo import kernel_times
from compare.record.program_parts import KernelTime, LineTime, SmallRun


def times(kernels: Iterable[kernel_times.LocatedKernel]) -> tuple[KernelTime, ...]:
    """By kernel."""
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
    """By source line."""
    return tuple(
        LineTime(source=line.source, seconds=line.seconds, kernels=line.kernels)
        for line in kernel_times.lines(tuple(kernels))
    )


def small_runs(profile: kernel_times.Profile, kernels: Iterable[kernel_times.LocatedKernel]) -> tuple[SmallRun, ...]:
    """Small kernels one after the other."""
    return tuple(
        SmallRun(first=run.first, names=run.names, seconds=run.seconds, sources=run.sources)
        for run in kernel_times.small_runs(profile, tuple(kernels))
    )
