"""Lists what two compilers made of two programs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter

import msgspec

from compare import files
from compare.files import Json
from compare.record.alignment_part import Alignment, Compilers, Donated, Reason
from compare.record.base import Named, Part, Text, Texts
from compare.record.program_parts import Compiled, KernelTime, SmallRun
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.kernel_phases import by_phase
from compare.report.pages import Item, Items
from workloads.core.modes import JAX_CELL, TF_CELL, Cell


class Passes(Part, frozen=True):
    """Both programs, compared after every pass."""

    reason: Text = ""
    lines: Texts = ()


class Pair(Part, frozen=True):
    """Two programs beyond what they hold value by value."""

    compilers: Compilers | None = None
    compiled: Named[Compiled] = msgspec.field(default_factory=dict)
    passes: Passes | None = None
    donation: Named[Donated] = msgspec.field(default_factory=dict)


def of_workload(workload: Workload) -> tuple[Items, ...]:
    """All of a workload of a run."""
    donation = (workload.alignment or Alignment()).donation
    return groups(Pair(compilers=workload.compilers, compiled=workload.compiled, donation=donation))


def of_pair(plain: Json) -> tuple[Items, ...]:
    """All of a pair of `compare.prove.program_alignment` as JSON."""
    return groups(files.convert_plain(plain, Pair))


def groups(pair: Pair) -> tuple[Items, ...]:
    """All of a pair; what was not looked at is left out."""
    return (
        *_compiler_groups(pair.compilers),
        *(group for cell in (TF_CELL, JAX_CELL) for group in _time_groups(cell, pair.compiled.get(str(cell)))),
        *_by_pass(pair.passes),
        *_donation_groups(pair.donation),
    )


def _compiler_groups(compilers: Compilers | None) -> Iterator[Items]:
    if compilers is None:
        return
    if compilers.reason:
        yield Items("Compilers", "", (Item("", compilers.reason),), "")
        return
    yield Items(
        "Frontend",
        "two programs under one compiler, beside where they part",
        _items(compilers.frontend),
        "no difference",
    )
    yield Items("Compiler", "one program under two compilers", _items(compilers.compiler), "no difference")
    lines = tuple(Item("", line) for line in compilers.partitions)
    yield Items("Kernels", f"how {TF_CELL} and {JAX_CELL} are partitioned into kernels", lines, "no difference")


def _items(reasons: tuple[Reason, ...]) -> tuple[Item, ...]:
    # Operations that part are the frontier, which stands above with more to say of each.
    return tuple(Item(reason.kind, reason.text, reason.sources) for reason in reasons if reason.kind != "operation")


def _time_groups(cell: Cell, compiled: Compiled | None) -> Iterator[Items]:
    if compiled is None or not compiled.times:
        return
    for phase, kernels in by_phase(compiled.times, attrgetter("phase"), attrgetter("seconds")):
        title = f"Time in {cell}, {phase}" if phase else f"Time in {cell}"
        yield Items(title, "longest kernels, and where they come from", tuple(map(_time, kernels)), "")
    runs = tuple(map(_small_run, compiled.small_runs))
    yield Items(f"Small kernels in {cell}", "in a row: candidates to compile together", runs, "none in a row")


def _time(kernel: KernelTime) -> Item:
    share = f"{kernel.name or ''}, {numbers.share(kernel.share)} of the time"
    return Item(numbers.seconds(kernel.seconds), share, kernel.sources)


def _small_run(run: SmallRun) -> Item:
    return Item(numbers.seconds(run.seconds), ", ".join(run.names), run.sources)


def _by_pass(passes: Passes | None) -> Iterator[Items]:
    if passes is not None:
        lines = tuple(Item("", line) for line in (passes.reason, *passes.lines) if line)
        yield Items("Pass by pass", "both compiled here", lines, "")


def _donation_groups(donation: Mapping[str, Donated]) -> Iterator[Items]:
    if donation:
        items = tuple(item for side, arrays in donation.items() for item in _donations(side, arrays))
        yield Items("Donation", "what a training step overwrites in place", items, "")


def _donations(side: str, arrays: Donated) -> Iterator[Item]:
    place = numbers.binary_bytes(arrays.bytes_in_place)
    count_text = f"{numbers.count(arrays.donated)} arrays donated: {_overwrite_text(arrays)}"
    yield Item(side, f"{count_text}; {place} updated in place")
    for miss in arrays.missed:
        yield Item(side, miss)


def _overwrite_text(arrays: Donated) -> str:
    if arrays.holds:
        return "all donated arrays are overwritten"
    if arrays.holds is None and not arrays.missed:
        return "not known whether all are overwritten"
    return f"{len(arrays.missed)} are not overwritten"
