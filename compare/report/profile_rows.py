"""A profile as text: sentences, kernels under their phase, and the way back from a line. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from compare.record.profile_part import KINDS, Pause, ProfiledKernel, ProfiledLine, ReadProfile
from compare.report import numbers
from compare.report.cluster_rows import place
from compare.report.kernel_phases import title
from compare.report.numbers import count_of

_WORTH_SAYING = 0.02
"""Pauses that are less of the whole time are no sentence."""


@dataclass(frozen=True)
class KernelRow:
    """A kernel or an operation; `bar` is the width of its share as CSS has it, `sources` are whole paths."""

    name: str
    runs: str
    total: str
    mean: str
    longest: str
    share: str
    bar: str
    what: str
    op_name: str
    module: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class PhaseRows:
    """The kernels of one phase, longest first; `title` says how much time they took together."""

    title: str
    rows: tuple[KernelRow, ...]


def headline(profile: ReadProfile) -> str:
    """How much ran, and for how long."""
    if not profile.kernels:
        return "no kernel ran"
    runs = sum(kernel.runs or 0 for kernel in profile.kernels)
    ran = f"{count_of(len(profile.kernels), _noun(profile))} ran {count_of(runs, 'time')}"
    return f"{ran}, {numbers.seconds(_total(profile.kernels))} on all threads, within {numbers.seconds(profile.span_s)}"


def _noun(profile: ReadProfile) -> str:
    return "kernel" if all(kernel.kind in list(KINDS)[:2] for kernel in profile.kernels) else "operation"


def _total(kernels: Sequence[ProfiledKernel]) -> float:
    return sum(kernel.seconds or 0.0 for kernel in kernels)


def sentences(profile: ReadProfile) -> Iterator[str]:
    """What took longest, what passed without a kernel, and what could not be read."""
    if profile.kernels:
        yield _longest(profile.kernels[0])
    yield from _pauses(profile)
    if profile.kernels and not profile.phases:
        yield "nothing tells of a gradient: kernels are not grouped by phase"
    yield from profile.notes


def _longest(kernel: ProfiledKernel) -> str:
    share, runs = numbers.share(kernel.share), count_of(kernel.runs or 0, "run")
    sentence = f"the longest is {kernel.name}, {numbers.seconds(kernel.seconds)} ({share}) in {runs}"
    lines = ", ".join(map(place, kernel.sources[:3]))
    from_ = f"from {lines}" if lines else kernel.op_name
    return ", ".join(filter(None, [sentence, kernel.phase, from_]))


def _pauses(profile: ReadProfile) -> Iterator[str]:
    idle = (profile.span_s or 0.0) - (profile.busy_s or 0.0)
    if not profile.pauses or not profile.span_s or idle < _WORTH_SAYING * profile.span_s:
        return
    most = profile.pauses[0]
    yield (
        f"{numbers.seconds(idle)} ({numbers.share(idle / profile.span_s)}) passed while nothing ran, "
        f"{numbers.seconds(most.seconds)} of it in {count_of(most.times or 0, 'pause')} between {most.before} and "
        f"{most.after}{_meanwhile(most)}"
    )


def _meanwhile(pause: Pause) -> str:
    return f": the host was in {pause.host} for {numbers.seconds(pause.host_s)}" if pause.host else ""


def phase_rows(profile: ReadProfile) -> list[PhaseRows]:
    """Every kernel under its phase, the phase that took longest first; all together where none is known."""
    if not profile.phases:
        return [PhaseRows("", tuple(map(row, profile.kernels)))] if profile.kernels else []
    return [
        PhaseRows(
            title(time.phase, time.seconds, time.share),
            tuple(row(kernel) for kernel in profile.kernels if kernel.phase == time.phase),
        )
        for time in profile.phases
    ]


def row(kernel: ProfiledKernel) -> KernelRow:
    """One kernel as text."""
    mean = kernel.seconds / kernel.runs if kernel.seconds is not None and kernel.runs else None
    return KernelRow(
        name=kernel.name,
        runs=numbers.count(kernel.runs),
        total=numbers.seconds(kernel.seconds),
        mean=numbers.seconds(mean),
        longest=numbers.seconds(kernel.longest_s),
        share=numbers.share(kernel.share),
        bar=f"{100 * (numbers.finite(kernel.share) or 0.0):.1f}%",
        what=kernel.opcode,
        op_name=kernel.op_name,
        module=kernel.module,
        sources=kernel.sources,
    )


def of_line(profile: ReadProfile, line: str) -> list[ProfiledKernel]:
    """The kernels that compute what stands at FILE:LINE, longest first; FILE may be the end of a path."""
    return [kernel for kernel in profile.kernels if any(_stands_at(source, line) for source in kernel.sources)]


def _stands_at(source: str, line: str) -> bool:
    file, _, number = source.rpartition(":")
    line_file, _, line_number = line.rpartition(":")
    parts, last = PurePath(file).parts, PurePath(line_file).parts
    return number == line_number and bool(last) and parts[-len(last) :] == last


def no_such_line(profile: ReadProfile, line: str) -> str:
    """That no kernel comes from a line, and from which lines of its file, or of any, kernels come."""
    sentence = f"no kernel comes from {line}"
    if not profile.lines:
        return f"{sentence}: no module of this profile names a line"
    name = PurePath(line.rpartition(":")[0]).name
    of_file = [
        profiled_line.source
        for profiled_line in profile.lines
        if PurePath(profiled_line.source.rpartition(":")[0]).name == name
    ]
    if of_file:
        line_numbers = ", ".join(sorted({source.rpartition(":")[2] for source in of_file}, key=int))
        return f"{sentence}: of {name}, kernels come from line {line_numbers}"
    return f"{sentence}: kernels come from {', '.join(map(place, _files(profile.lines)))}"


def _files(lines: Sequence[ProfiledLine]) -> list[str]:
    return list(dict.fromkeys(line.source.rpartition(":")[0] for line in lines))


def lines(profile: ReadProfile) -> list[tuple[str, str, str]]:
    """Every source line with its time and its kernels, longest first."""
    return [(line.source, numbers.seconds(line.seconds), ", ".join(line.kernels)) for line in profile.lines]


def pauses(profile: ReadProfile) -> list[tuple[str, str, str, str]]:
    """Between which kernels nothing ran, how often, how long, and what the host was in."""
    return [
        (
            f"{pause.before} → {pause.after}",
            numbers.count(pause.times),
            numbers.seconds(pause.seconds),
            f"{pause.host}, {numbers.seconds(pause.host_s)}" if pause.host else "",
        )
        for pause in profile.pauses
    ]
