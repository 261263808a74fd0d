"""Rules about the kernels of a call: by mode, the longest, runs of small ones, libraries, modes without compilation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from compare.explaining.sentences import CLUSTERS, FASTER, Case, Sentence, present_figures, ratio_text
from compare.record.program_parts import Compiled, KernelTime, Profile
from compare.report import numbers, tables
from workloads.core.modes import JAX_CELL, PORT, TF_CELL, TF_EAGER, TF_GRAPH, TF_JIT, Cell, Mode

LONGEST = 3
"""Kernels that are named."""


def kernel_counts(case: Case) -> Iterator[Sentence]:
    """Kernels that a call ran, by mode."""
    profiles = case.part.profile
    figures = {
        name: figure
        for name in tables.order_modes(profiles)
        if (figure := case.figure(profiles[name].kernels, "profile", name, "kernels"))
    }
    if len(figures) > 1:
        counts_text = ", ".join(f"{name} {numbers.count(figure.value)}" for name, figure in figures.items())
        yield Sentence(
            "kernel_counts",
            f"kernels that ran in one call: {counts_text}",
            tuple(figures.values()),
            case.commands.by("run"),
        )


def longest_kernels(case: Case) -> Iterator[Sentence]:
    """The kernels that take the most time on each side."""
    for cell in (JAX_CELL, TF_CELL):
        times = _of_cell(case, cell).times
        longest = [place for place, kernel in enumerate(times) if numbers.finite(kernel.seconds) is not None][:LONGEST]
        if not longest:
            continue
        kernels = [times[place] for place in longest]
        figures = [
            case.figure(getattr(times[place], field), "compiled", str(cell), "times", place, field)
            for place in longest for field in ("seconds", "share")
        ]  # fmt: skip
        yield Sentence(
            "longest_kernels",
            f"longest kernels of {cell}, by their time in one call and their share of all kernels': "
            f"{', '.join(map(_kernel_text, kernels))}",
            present_figures(figures),
            case.commands.by("run"),
            tuple(dict.fromkeys(source for kernel in kernels for source in kernel.sources)),
            sum(numbers.finite(kernel.seconds) or 0.0 for kernel in kernels),
        )


def small_kernels(case: Case) -> Iterator[Sentence]:
    """Runs of small kernels in the faster mode that asks for no compilation; whether compiling all of it helps."""
    mode = _find_uncompiled(case)
    if mode is None:
        return
    profile = case.part.profile[str(mode)]
    place, longest = max(enumerate(profile.small_runs), key=lambda run: run[1].seconds or 0.0)
    figures = present_figures((
        case.figure(longest.seconds, "profile", str(mode), "small_runs", place, "seconds"),
        case.figure(profile.kernels, "profile", str(mode), "kernels"),
    ))  # fmt: skip
    if len(figures) < 2 or len(longest.names) < 2:
        return
    ratio = case.ratio(TF_JIT, mode)
    whole = (
        f"; compiled whole, {TF_JIT} against {mode}: {ratio_text(ratio)}" if ratio and ratio.verdict == FASTER else ""
    )
    yield Sentence(
        "small_kernels",
        f"{mode}, which asks for no compilation, runs {numbers.count(profile.kernels)} kernels in a call; of its runs "
        f"of small ones in a row the longest takes {numbers.seconds(longest.seconds)}: "
        f"{numbers.list_first(longest.names, LONGEST)}{whole}",
        figures + (case.of_ratio(TF_JIT, mode) if whole else ()),
        case.commands.by("run"),
        longest.sources,
        longest.seconds or 0.0,
    )


def libraries(case: Case) -> Iterator[Sentence]:
    """Libraries that one side's compiled program calls more often than the other's."""
    cells = {cell: _of_cell(case, cell) for cell in (JAX_CELL, TF_CELL)}
    if any(compiled.reason or compiled.kernels is None for compiled in cells.values()):
        return
    calls = {
        cell: Counter(call.library or call.target for call in program.custom_calls) for cell, program in cells.items()
    }
    own, other = calls[JAX_CELL], calls[TF_CELL]
    differing = sorted(name for name in own.keys() | other.keys() if own[name] != other[name] and name)
    if not differing:
        return
    calls_text = ", ".join(f"{name} {own[name]} in {JAX_CELL}, {other[name]} in {TF_CELL}" for name in differing)
    extra_calls = [
        call
        for program in cells.values()
        for call in program.custom_calls
        if (call.library or call.target) in differing
    ]
    names = {call.name for call in extra_calls}
    figures = [case.figure(program.kernels, "compiled", str(cell), "kernels") for cell, program in cells.items()]
    of_all = ", ".join(f"{numbers.count(program.kernels)} in {cell}" for cell, program in cells.items())
    yield Sentence(
        "libraries",
        f"library calls differ: {calls_text} (kernels of all kinds: {of_all})",
        present_figures(figures),
        case.commands.by("hlo"),
        tuple(dict.fromkeys(call.source for call in extra_calls if call.source)),
        sum(kernel.seconds or 0.0 for program in cells.values() for kernel in program.times if kernel.name in names),
    )


def modes_alike(case: Case) -> Iterator[Sentence]:
    """Modes that compiled nothing of their own."""
    for name, profile in case.part.profile.items():
        figure = case.figure(profile.kernels, "profile", name, "kernels")
        if profile.same_as and figure:
            yield Sentence(
                "modes_alike",
                f"{name} compiled nothing: it runs the same {numbers.count(figure.value)} kernels as {profile.same_as}",
                (figure,),
                case.commands.by(CLUSTERS),
            )


def _of_cell(case: Case, cell: Cell) -> Compiled:
    return case.part.compiled.get(str(cell), Compiled())


def _find_uncompiled(case: Case) -> Mode | None:
    """The faster mode that asks for no compilation and has small kernels in a row; None where none was timed."""
    medians = {
        mode: median
        for mode in (TF_EAGER, TF_GRAPH)
        if case.part.profile.get(str(mode), Profile()).small_runs
        and (median := tables.median(case.timing, mode)) is not None
        and case.ratio(PORT, mode)
    }
    return min(medians, key=lambda mode: medians[mode]) if medians else None


def _kernel_text(kernel: KernelTime) -> str:
    share = f" ({numbers.share(kernel.share)})" if numbers.finite(kernel.share) is not None else ""
    return f"{kernel.name} {numbers.seconds(kernel.seconds)}{share}"
