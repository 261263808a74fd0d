"""The page of `jaxport tune ablate`: what each pass and feature buys a program, and the code of its kernels. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from compare.record.ablation_part import (
    BIT_EQUAL,
    COMPARED,
    GATES_FAIL,
    KEPT,
    LOST,
    NOT_RUN,
    REFUSED,
    SAME_CODE,
    UNSTEADY,
    AblatedKernel,
    AblatedProgram,
    Ablation,
    LeftOut,
)
from compare.record.base import Number
from compare.record.timing_part import Ratio
from compare.report import numbers
from compare.report.pages import Cell, Column, Folded, Lines, Page, Section, Table, Tone, columns

LONGEST = 60
"""Kernels of one table; the JSON beside the page has them all."""

LEGEND = (
    "Time without: the time of a call without it over that of the full pipeline, with the 95 % interval. Above 1 it is "
    "worth having.",
    "Kernels: those that a profiled call ran. Bytes moved: by XLA's cost analysis.",
    "Vectors: of the kernels that XLA wrote code for, those whose busiest loop computes in vectors, the widest of "
    "them, and how many of them one turn of such a loop handles. Fused: multiply-adds in one instruction, of all "
    "instructions of floating-point arithmetic.",
)

_NOT_COMPARED = {
    SAME_CODE: "Made the same code, so that they buy this program nothing alone",
    NOT_RUN: "Changed nothing",
    KEPT: "Cannot be left out",
    REFUSED: "XLA refuses the program then",
    LOST: "Without it XLA ends its process",
}
_SLOWER, _FASTER, _EQUIVALENT = "slower", "faster", "equivalent"
_TONES: Mapping[str, Tone] = {_SLOWER: "pass", _FASTER: "warning"}
_COLUMNS = (
    Column("left out"),
    *columns("time without", "verdict", "kernels", "bytes moved", "temporaries", "results", "vectors", "fused"),
)
_KERNELS = (
    Column("kernel", "code"),
    Column("busiest loop computes in"),
    *columns("vectors a turn", "fused multiply-adds", kind="number"),
)


def page(ablations: Mapping[str, Ablation]) -> Page:
    """Every workload's table, and behind it the code of its kernels.

    Args:
      ablations: by workload.
    """
    devices = dict.fromkeys(str(ablation.environment.get("device", "")) for ablation in ablations.values())
    return Page(
        command="jaxport tune ablate",
        title="What each pass and feature of XLA buys",
        origin=["One left out at a time, everything else as it is.", f"Measured on {', '.join(devices)}."],
        sections=[_section(name, ablation) for name, ablation in ablations.items()],
        notes=LEGEND,
    )


def _section(name: str, ablation: Ablation) -> Section:
    rest = [f"{says}: {names}" for says, names in others(ablation)]
    blocks = (
        Table(_COLUMNS, rows(ablation), f"without each, {name}"),
        Lines(rest, "note"),
        *_kernels(ablation),
        Lines(_notes(ablation), "note"),
    )
    return Section(name, headline(ablation), tuple(sentences(ablation)), blocks)


def rows(ablation: Ablation) -> list[list[Cell]]:
    """The full pipeline, then what has figures of its own: the dearest to lose first."""
    full = ablation.full or AblatedProgram()
    comparable = sorted((row for row in ablation.rows if row.outcome == COMPARED), key=_place)
    whole = (_time(full), "", *_figures(full, full), "", *code(full))
    first = [Cell("nothing", note="the full pipeline"), *map(Cell, whole)]
    return [first, *(_row(row, full) for row in comparable)]


def headline(ablation: Ablation) -> str:
    """The pass of the program that was compiled, its size, and the compiler."""
    dimensions = ", ".join(f"{key} {value}" for key, value in ablation.dimensions.items())
    threads = ablation.threads or 0
    where = f" ({dimensions})" if dimensions else ""
    return (
        f"{ablation.pass_} of {ablation.program} at size {ablation.size}{where}, by jaxlib "
        f"{ablation.environment.get('jaxlib', '')} on {threads} thread{'s' * (threads > 1)}"
    )


def sentences(ablation: Ablation) -> Iterator[str]:
    """The conclusions: what is worth having, what stands in the way, and what changes results."""
    if ablation.reason:
        yield f"The port itself fails parity, so that no row could be judged: {ablation.reason}"
    comparable = sorted((row for row in ablation.rows if row.outcome == COMPARED), key=_place)
    yield from _by_verdict(comparable)
    for row in comparable:
        if row.results in (GATES_FAIL, UNSTEADY):
            yield f"Without {row.name} results are not the program's: {row.gate or row.results}"
    reason = next((row.time.withheld for row in comparable if row.time and row.time.withheld), "")
    if reason:
        yield f"No ratio can be stated: {reason}."


def others(ablation: Ablation) -> Iterator[tuple[str, str]]:
    """The omissions without figures, by outcome, with the reasons."""
    for outcome, says in _NOT_COMPARED.items():
        left_out = [row for row in ablation.rows if row.outcome == outcome]
        if outcome == SAME_CODE and left_out:
            yield says, ", ".join(row.name for row in left_out)
        elif left_out:
            yield says, "; ".join(f"{row.name}: {row.reason}" for row in left_out)


def code(program: AblatedProgram) -> tuple[str, str]:
    """The vectors and the fused multiply-adds of all kernels, as two cells."""
    if not program.codes:
        return "no code of XLA's own", ""
    vectors = [kernel for kernel in program.codes if (kernel.width or 1) > 1]
    unrolls = sorted({kernel.unroll for kernel in vectors if kernel.unroll})
    widest = max((kernel.vector for kernel in vectors), key=_width, default="")
    words = [f"{len(vectors)} of {len(program.codes)}", widest, f"{_span(unrolls)} a turn" if unrolls else ""]
    fusions = [kernel for kernel in program.codes if kernel.fused is not None]
    arithmetic = sum(kernel.arithmetic or 0 for kernel in fusions)
    share = f"{sum(kernel.fused or 0 for kernel in fusions)} of {arithmetic}" if fusions else numbers.MISSING
    return ", ".join(filter(None, words)), share


def _changed_kernels(program: AblatedProgram, full: AblatedProgram) -> tuple[AblatedKernel, ...]:
    """The kernels that the full pipeline lacks, or for which it has other code."""
    full_kernels = {kernel.kernel: kernel for kernel in full.codes}
    return tuple(kernel for kernel in program.codes if full_kernels.get(kernel.kernel) != kernel)


def _ratio_texts(ratio: Ratio | None, reason: str = "") -> tuple[str, str]:
    """A ratio with its interval, and its verdict."""
    if reason:
        return reason, ""
    if ratio is None:
        return "not timed", ""
    if ratio.withheld:
        return "withheld", ""
    return f"{numbers.ratio(ratio.ratio)} {numbers.interval(ratio.ci95)}", ratio.verdict


def _row(row: LeftOut, full: AblatedProgram) -> list[Cell]:
    program = row.made or AblatedProgram()
    time, verdict = _ratio_texts(row.time, row.untimed)
    return [
        Cell(row.name, note=row.says),
        Cell(time),
        Cell(verdict, _TONES.get(verdict, "")),
        *map(Cell, _figures(program, full)),
        Cell(_results(row), "fail" if row.results in (GATES_FAIL, UNSTEADY) else ""),
        *map(Cell, code(program)),
    ]


def _results(row: LeftOut) -> str:
    if row.results == BIT_EQUAL or not row.difference:
        return row.results
    return f"{row.results} ({numbers.error(row.difference)})"


def _figures(program: AblatedProgram, full: AblatedProgram) -> tuple[str, str, str]:
    return (
        _beside(_count_text(program.kernels_run), program.kernels_run, full.kernels_run),
        _beside(numbers.binary_bytes(program.bytes), program.bytes, full.bytes),
        _beside(numbers.binary_bytes(program.temp_bytes), program.temp_bytes, full.temp_bytes),
    )


def _beside(text: str, value: Number, full: Number) -> str:
    """A figure, and by what part it is more or less than the full pipeline's."""
    if not value or not full or value == full:
        return text
    change = 100 * (value / full - 1)
    return f"{text} ({change:+.0f} %)" if abs(change) >= 0.5 else text


def _time(program: AblatedProgram) -> str:
    return numbers.MISSING if program.seconds is None else numbers.seconds(program.seconds)


def _place(row: LeftOut) -> tuple[float, str]:
    ratio = row.time.ratio if row.time else None
    return (math.inf if ratio is None else -ratio, row.name)


def _by_verdict(comparable: Sequence[LeftOut]) -> Iterator[str]:
    for verdict, says in ((_SLOWER, "Worth having"), (_FASTER, "In the way"), (_EQUIVALENT, "No difference in time")):
        left_out = [row for row in comparable if row.time and row.time.verdict == verdict and not row.time.withheld]
        if verdict == _FASTER:
            left_out.reverse()
        if left_out:
            names = (f"{row.name} ({numbers.ratio(row.time.ratio if row.time else None)} without)" for row in left_out)
            yield f"{says}: {', '.join(names)}."


def _span(unrolls: Sequence[int]) -> str:
    return str(unrolls[0]) if len(unrolls) == 1 else f"{unrolls[0]} to {unrolls[-1]}"


def _width(vector: str) -> int:
    return int(vector.partition(" ")[0])


def _count_text(value: Number) -> str:
    return numbers.MISSING if value is None else numbers.count(value)


def _kernels(ablation: Ablation) -> Iterator[Folded]:
    full = ablation.full
    if full is None:
        return
    yield from _codes("the full pipeline", full.codes)
    for row in ablation.rows:
        if row.outcome == COMPARED and row.made is not None:
            title = f"without {row.name}, where it is other than that"
            yield from _codes(title, _changed_kernels(row.made, full))


def _codes(title: str, kernels: Sequence[AblatedKernel]) -> Iterator[Folded]:
    if kernels:
        rows = list(map(_kernel, kernels))
        table = Table(_KERNELS, rows, f"code of {title}", most=LONGEST, whole_in="ablation.json")
        yield Folded(f"Code of {title}: {numbers.count_of(len(kernels), 'kernel')}", [table])


def _kernel(kernel: AblatedKernel) -> tuple[str, ...]:
    """One kernel's code: vector, unrolling, fused multiply-adds of its arithmetic."""
    fused_text = numbers.MISSING if kernel.fused is None else f"{kernel.fused} of {kernel.arithmetic or 0}"
    return kernel.kernel, kernel.vector or "no floating point", _count_text(kernel.unroll), fused_text


def _notes(ablation: Ablation) -> list[str]:
    read = f"Machine code was read by {ablation.disassembler}."
    notes = [read if ablation.disassembler else "Fused multiply-adds are not counted: there is no objdump here."]
    if ablation.null is not None and not ablation.null.withheld:
        null = ablation.null
        notes.append(
            f"A second copy of the full pipeline's code took {numbers.ratio(null.ratio)} "
            f"{numbers.interval(null.ci95)} of the first's time, over {null.pairs} fresh processes."
        )
    return notes
