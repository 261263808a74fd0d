"""Rules about ratios: the modes that the port beats, withheld ratios, and the parts of the difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compare.explaining.sentences import (
    ALWAYS_FIRST,
    DECIDED,
    FASTER,
    Case,
    Figure,
    Sentence,
    present_figures,
    ratio_text,
)
from compare.record.timing_part import CellTime
from compare.report import attributions, numbers, tables
from compare.report.attributions import Factor
from workloads.core.modes import CELL_PAIRS, JAX_EAGER, JAX_JIT, PORT, TF_EAGER, TF_JIT, Mode, recorded_pair


def against_the_fastest(case: Case) -> Iterator[Sentence]:
    """The ratio that a user asks for."""
    fastest = case.comparable
    ratio = fastest and case.ratio(PORT, fastest)
    if not fastest or not ratio:
        return
    calls = " and ".join(numbers.seconds(tables.median(case.timing, mode)) for mode in (PORT, fastest))
    conclusion = {"inconclusive": "which of them is faster is not decided"}.get(ratio.verdict, f"it is {ratio.verdict}")
    yield Sentence(
        "against_the_fastest",
        f"{PORT} takes {numbers.ratio(ratio.ratio)} of the time of {fastest}, the fastest TensorFlow mode, 95 % "
        f"interval {numbers.interval(ratio.ci95)}: {conclusion} ({calls} a call)"
        f"{f'; {ratio.note}' if ratio.note else ''}",
        (*case.of_ratio(PORT, fastest), *case.of_median(PORT), *case.of_median(fastest)),
        case.commands.by("bench"),
        seconds=ALWAYS_FIRST,
    )


def against_the_others(case: Case) -> Iterator[Sentence]:
    """One sentence on the ratios to all other modes of TensorFlow."""
    pairs = [pair for name in case.timing.ratios if (pair := recorded_pair(name)) and pair.left == PORT]
    others = [pair.right for pair in pairs if pair.right.is_original and pair.right != case.fastest]
    ratios = {mode: ratio for mode in others if (ratio := case.ratio(PORT, mode))}
    if ratios:
        list_text = "; ".join(f"{mode} {ratio_text(ratio)}" for mode, ratio in ratios.items())
        figures = tuple(figure for mode in ratios for figure in case.of_ratio(PORT, mode))
        yield Sentence(
            "against_the_others",
            f"{PORT} against the other TensorFlow modes, with 95 % intervals: {list_text}",
            figures,
            case.commands.by("bench"),
            seconds=ALWAYS_FIRST,
        )


def withheld(case: Case) -> Iterator[Sentence]:
    """Ratios that are not given, the modes of one reason together."""
    modes: dict[str, list[Mode]] = {}
    figures: dict[str, list[Figure | None]] = {}
    for name, ratio in case.timing.ratios.items():
        pair = recorded_pair(name)
        if ratio.withheld and pair and pair.left == PORT and pair.right.is_original:
            modes.setdefault(ratio.withheld, []).append(pair.right)
            figures.setdefault(ratio.withheld, []).append(case.figure(ratio.pairs, "timing", "ratios", name, "pairs"))
    for reason, those in modes.items():
        shown_figures = present_figures(figures[reason])
        if shown_figures:
            pairs = numbers.count(max(figure.value for figure in shown_figures))
            yield Sentence(
                "withheld",
                f"after {pairs} pairs of processes no ratio of {PORT} to {', '.join(map(str, those))} is given, and "
                f"nothing may be concluded from their times: {reason}",
                shown_figures,
                case.commands.by("bench"),
                seconds=ALWAYS_FIRST,
            )


def compiling(case: Case) -> Iterator[Sentence]:
    """A framework whose own compiled mode is no faster than its eager one."""
    for compiled, eager in ((TF_JIT, TF_EAGER), (JAX_JIT, JAX_EAGER)):
        ratio = case.ratio(compiled, eager)
        if ratio and ratio.verdict in DECIDED and ratio.verdict != FASTER:
            yield Sentence(
                "compiling",
                f"compiled, {compiled} takes {numbers.ratio(ratio.ratio)} of the time of {eager}, 95 % interval "
                f"{numbers.interval(ratio.ci95)}: it is {ratio.verdict}",
                (*case.of_ratio(compiled, eager), *case.of_median(compiled), *case.of_median(eager)),
                case.commands.by("bench"),
                seconds=_apart(case, compiled, eager),
            )


def split(case: Case) -> Iterator[Sentence]:
    """The ratio to tf/jit as a product of frontend, compiler and runtime; silent where the ratio is not decided."""
    factors = attributions.factors(case.part)
    figures = present_figures([case.figure(factor.value, "attribution", factor.name) for factor in factors])
    if not factors or len(figures) < len(factors) or case.verdict(PORT, TF_JIT) not in DECIDED:
        return
    list_text = ", ".join(f"{factor.name} {numbers.ratio(factor.value)}" for factor in factors)
    beyond = attributions.threshold(case.timing.margin)
    moving = [factor for factor in factors if factor.distance > beyond]
    sentence = attributions.describe_factors(moving, "moves it", "moves it most")
    moves = sentence if moving else "none moves it beyond the margin (medians, no interval)"
    yield Sentence(
        "split",
        "; ".join(filter(None, [f"{PORT} over {TF_JIT} is the product of {list_text}", moves])),
        (*figures, *case.of_ratio(PORT, TF_JIT), *_of_cells(case, moving)),
        case.commands.by("run"),
        seconds=_apart(case, PORT, TF_JIT),
    )


def _of_cells(case: Case, moving: Sequence[Factor]) -> tuple[Figure, ...]:
    """The times that swaps are computed from, where the record has them."""
    if all(factor.is_whole for factor in moving):
        return ()
    cells = case.timing.cells
    return present_figures([case.figure(cells[cell].median_s, "timing", "cells", cell, "median_s") for cell in cells])


def programs(case: Case) -> Iterator[Sentence]:
    """Both frontends' programs under one compiler, where the interval tells them apart."""
    for pair in CELL_PAIRS:
        name = str(pair)
        ratio = case.timing.program_ratios.get(name)
        if ratio is None or ratio.withheld or ratio.verdict not in DECIDED or numbers.finite(ratio.ratio) is None:
            continue
        place = ("timing", "program_ratios", name)
        ends = [case.figure(end, *place, "ci95", n) for n, end in enumerate(ratio.ci95 or ())]
        reasons = case.part.compilers.frontend if case.part.compilers else ()
        sources = tuple(dict.fromkeys(source for reason in reasons for source in reason.sources))
        seconds = [
            numbers.finite(case.timing.cells.get(str(cell), CellTime()).median_s) for cell in (pair.left, pair.right)
        ]
        yield Sentence(
            "programs",
            f"under one compiler the port's program takes {ratio_text(ratio)}, of the time of TensorFlow's ({name})",
            present_figures((case.figure(ratio.ratio, *place, "ratio"), *ends)),
            case.commands.by("hlo"),
            sources if ratio.verdict != "equivalent" else (),
            abs(seconds[0] - seconds[1]) if seconds[0] is not None and seconds[1] is not None else 0.0,
        )
        return


def _apart(case: Case, left: Mode, right: Mode) -> float:
    """Seconds between two modes' calls; 0 where one is not known."""
    medians = [tables.median(case.timing, mode) for mode in (left, right)]
    return abs(medians[0] - medians[1]) if medians[0] is not None and medians[1] is not None else 0.0
