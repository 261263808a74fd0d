"""The page of `jaxport explain profile`: kernels by phase, lines and the kernels that they become, and pauses. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from compare.record.profile_part import KINDS, Pause, ProfiledKernel, ProfiledLine, ReadProfile
from compare.report import numbers
from compare.report.kernel_phases import title
from compare.report.numbers import count_of
from compare.report.pages import Cell, Column, Lines, Page, Section, SourceLine, Table, columns

FILE = "profile.json"
_WORTH_SAYING = 0.02
"""Pauses that are less of the whole time are no sentence."""
_SOURCES = 2
"""Source lines of a kernel that a row of a console has room for."""
_KERNELS = (
    *(Column("kernel", "code wrap"), *columns("runs", "total", kind="number"), Column("mean", "number", "wide")),
    *(Column("longest", "number", "page"), Column("share", "number"), Column("what", room="wide"), Column("from")),
    *(Column("the frontend's name", "code wrap", "page"), Column("module", "code wrap", "page")),
)
_LINES = (Column("line", "code wrap"), Column("time", "number"), Column("kernels", "code wrap"))
_PAUSES = (
    *(Column("between", "code wrap"), *columns("times", "time", kind="number"), Column("the host was in", "code wrap")),
)


def page(profile: ReadProfile, name: str, most: int) -> Page:
    """All that was read."""
    shared_lines = Lines(["The time of a kernel of several lines counts for each of them."], "note")
    nothing_ran = Lines(["When nothing ran, between the two kernels that did."], "note")
    lines, pauses = _lines(profile), _pauses(profile)
    sections = (
        Section("Kernels", headline(profile), list(sentences(profile)), kernel_tables(profile, most)),
        Section("Lines", blocks=(shared_lines, Table(_LINES, lines, whole_in=FILE)), is_on_page_alone=True),
        Section("Pauses", blocks=(nothing_ran, Table(_PAUSES, pauses, whole_in=FILE)), is_on_page_alone=True),
    )
    has_content = (True, bool(lines), bool(pauses))
    selection = [section for section, is_full in zip(sections, has_content, strict=True) if is_full]
    return Page("jaxport explain profile", name, origin=profile.files, sections=selection)


def of_one_line(profile: ReadProfile, line: str) -> Section:
    """The kernels of FILE:LINE, or that there is none."""
    kernels = of_line(profile, line)
    if not kernels:
        return Section(no_such_line(profile, line))
    rows = list(map(_row, kernels))
    return Section(f"{count_of(len(rows), 'kernel')} from {line}", blocks=[Table(_KERNELS, rows)])


def kernel_tables(profile: ReadProfile, most: int) -> list[Table]:
    """Every kernel under its phase, the phase that took longest first; all together where none is known."""
    if not profile.phases:
        return [_table("", profile.kernels, most)] if profile.kernels else []
    return [
        _table(
            title(time.phase, time.seconds, time.share),
            [kernel for kernel in profile.kernels if kernel.phase == time.phase],
            most,
        )
        for time in profile.phases
    ]


def _table(phase: str, kernels: Sequence[ProfiledKernel], most: int) -> Table:
    return Table(_KERNELS, list(map(_row, kernels)), title=phase, most_on_console=most, whole_in=FILE)


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
    """Sentences on the longest kernel, on pauses, and on what could not be read."""
    if profile.kernels:
        yield _longest(profile.kernels[0])
    yield from _idle_time(profile)
    if profile.kernels and not profile.phases:
        yield "no name says which kernels belong to a gradient: kernels are not grouped by phase"
    yield from profile.notes


def _longest(kernel: ProfiledKernel) -> str:
    share, runs = numbers.share(kernel.share), count_of(kernel.runs or 0, "run")
    sentence = f"the longest is {kernel.name}, {numbers.seconds(kernel.seconds)} ({share}) in {runs}"
    lines = ", ".join(map(_place, kernel.sources[:3]))
    from_ = f"from {lines}" if lines else kernel.op_name
    return ", ".join(filter(None, [sentence, kernel.phase, from_]))


def _idle_time(profile: ReadProfile) -> Iterator[str]:
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


def _row(kernel: ProfiledKernel) -> list[Cell]:
    mean = kernel.seconds / kernel.runs if kernel.seconds is not None and kernel.runs else None
    share = numbers.finite(kernel.share) or 0.0
    lines = numbers.list_first(list(map(_place, kernel.sources)), _SOURCES)
    return [
        Cell(kernel.name),
        Cell(numbers.count(kernel.runs)),
        Cell(numbers.seconds(kernel.seconds)),
        Cell(numbers.seconds(mean)),
        Cell(numbers.seconds(kernel.longest_s)),
        Cell(numbers.share(kernel.share), bar=f"{100 * share:.1f}%"),
        Cell(kernel.opcode),
        Cell(lines or kernel.op_name, sources=tuple(map(SourceLine, kernel.sources))),
        Cell(kernel.op_name),
        Cell(kernel.module),
    ]


def _place(source: str) -> str:
    return PurePath(source).name


def of_line(profile: ReadProfile, line: str) -> list[ProfiledKernel]:
    """The kernels that compute what stands at FILE:LINE, longest first; FILE may be the end of a path."""
    return [kernel for kernel in profile.kernels if any(_stands_at(source, line) for source in kernel.sources)]


def _stands_at(source: str, line: str) -> bool:
    file, _, number = source.rpartition(":")
    line_file, _, line_number = line.rpartition(":")
    parts, last = PurePath(file).parts, PurePath(line_file).parts
    return number == line_number and bool(last) and parts[-len(last) :] == last


def no_such_line(profile: ReadProfile, line: str) -> str:
    """A message that no kernel comes from a line; it names lines of its file, or of any, with kernels."""
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
    return f"{sentence}: kernels come from {', '.join(map(_place, _files(profile.lines)))}"


def _files(lines: Sequence[ProfiledLine]) -> list[str]:
    return list(dict.fromkeys(line.source.rpartition(":")[0] for line in lines))


def _lines(profile: ReadProfile) -> list[tuple[Cell, str, str]]:
    """Every source line with its time and its kernels, longest first."""
    return [
        (Cell(line.source, sources=[SourceLine(line.source)]), numbers.seconds(line.seconds), ", ".join(line.kernels))
        for line in profile.lines
    ]


def _pauses(profile: ReadProfile) -> list[tuple[str, str, str, str]]:
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
