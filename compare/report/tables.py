"""Rows of the record as text, shared by the page and the console. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass

from compare.record.envelope import Environment, Record
from compare.record.program_parts import Compiled
from compare.record.timing_part import Ratio, Timing
from compare.record.vocabulary import PASS_WORDS
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.showable import present
from workloads.core.modes import (
    CELL_PAIRS,
    IN_OTHER_PROCESSES,
    JAX,
    JAX_RETAINED,
    MODES,
    PORT,
    TF,
    TF_CELL,
    Cell,
    Mode,
    Pair,
    recorded_pair,
)
from workloads.protocol.framework import default_pass

SIDES = {TF: "TF", JAX: "JAX"}

FAULT_S, FAULTS_SHARE = 1e-6, 0.05
"""Seconds of a page fault, and the smallest share of a call at which faults are reported. Without 13,200
faults ResNet's step took 16 ms less, without 15,600 BERT's 13 ms: docs/results/zoo.md."""
LARGE_PAGE_FAULTS = 512
"""Faults of 4 KiB in one large page of 2 MiB: with fewer, large pages cannot help."""
LARGE_PAGES = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"
"""From glibc 2.35: https://www.gnu.org/software/libc/manual/html_node/Memory-Allocation-Tunables.html."""


@dataclass(frozen=True)
class RatioRow:
    """Time of A over time of B, with its interval, or why there is none."""

    name: str
    ratio: str
    interval: str
    verdict: str
    pairs: str
    rounds: str
    between_pair_share: str
    withheld: str
    null: bool
    """Identical code against itself: what the measurement cannot tell apart."""
    pair: Pair | None
    """The named pair of modes; None if the name is no such pair."""


@dataclass(frozen=True)
class ModeRow:
    """The costs of one mode: until the steady state, and of a call in it."""

    mode: str
    median: str
    first_call: str
    trace: str
    compile: str
    peak: str
    page_faults: str


@dataclass(frozen=True)
class KernelRow:
    """Kernels that a profiler counted in one call of a mode, by name."""

    mode: str
    count: str
    names: tuple[tuple[str, int], ...]
    reason: str
    alike: str
    """The mode whose compiled code this one shares; empty if it has its own."""


@dataclass(frozen=True)
class CellRow:
    """One frontend's program compiled by one side's XLA."""

    name: str
    facts: tuple[tuple[str, str], ...]
    reason: str


def order_modes(modes: Iterable[str]) -> list[str]:
    """Modes in the order of all tables: TF then JAX, eager before compiled, unknown ones last."""
    places = {str(mode): place for place, mode in enumerate((*MODES, *IN_OTHER_PROCESSES))}
    return sorted(modes, key=lambda mode: places.get(mode, len(places)))


def ratios(workload: Workload) -> tuple[RatioRow, ...]:
    """Every ratio, then the null rows that say how far identical code comes out from itself."""
    timing = workload.timing or Timing()
    groups = ((timing.ratios, False), (timing.program_ratios, False), (timing.null, True))
    return tuple(ratio_row(name, ratio, null) for group, null in groups for name, ratio in group.items())


def median(timing: Timing, mode: Mode | str) -> float | None:
    """Seconds of a call in that mode; None where it has no time."""
    mode_times = timing.modes.get(str(mode))
    return numbers.finite(mode_times.median_s) if mode_times else None


def against_best(workload: Workload, port: Mode = PORT) -> RatioRow | None:
    """The port against the fastest TF mode that was timed with it; None where no such ratio is recorded."""
    timing = workload.timing or Timing()
    pairs = [pair for name in timing.ratios if (pair := recorded_pair(name))]
    medians = {pair: median(timing, pair.right) for pair in pairs if pair.left == port and pair.right.is_original}
    if not medians:
        return None
    best = min(medians, key=lambda pair: float("inf") if medians[pair] is None else medians[pair] or 0.0)
    return _ratio_row(str(best), best, timing.ratios[str(best)])


def of_programs(workload: Workload) -> RatioRow | None:
    """The two programs under one compiler, where no TF mode was timed; None where they were not either."""
    timing = workload.timing or Timing()
    ratios = [(str(pair), ratio) for pair in CELL_PAIRS if (ratio := present(timing.program_ratios.get(str(pair))))]
    return ratio_row(*ratios[0]) if ratios and against_best(workload) is None else None


def recorded_ratio(timing: Timing, pair: Pair) -> RatioRow | None:
    """The ratio of two modes; None where the record has none, or nothing of it."""
    ratio = present(timing.ratios.get(str(pair)))
    return _ratio_row(str(pair), pair, ratio) if ratio else None


def ratio_row(name: str, ratio: Ratio, null: bool = False) -> RatioRow:
    """One ratio of the record.

    Args:
      name: "A vs B".
      null: whether A and B are identical code.
    """
    return _ratio_row(name, recorded_pair(name), ratio, null)


def _ratio_row(name: str, pair: Pair | None, ratio: Ratio, null: bool = False) -> RatioRow:
    return RatioRow(
        name=name,
        ratio=numbers.ratio(ratio.ratio),
        interval=numbers.interval(ratio.ci95),
        verdict=ratio.verdict,
        pairs=numbers.count(ratio.pairs),
        rounds=numbers.count(ratio.rounds),
        between_pair_share=numbers.share(ratio.between_pair_share),
        withheld=ratio.withheld,
        null=null,
        pair=pair,
    )


def modes(workload: Workload) -> tuple[ModeRow, ...]:
    """Times of every mode."""
    times = (workload.timing or Timing()).modes
    return tuple(
        ModeRow(
            mode=name,
            median=numbers.seconds(times[name].median_s),
            first_call=numbers.seconds(times[name].first_call_s),
            trace=numbers.seconds(times[name].trace_s),
            compile=numbers.seconds(times[name].compile_s),
            peak=numbers.binary_bytes(times[name].peak_rss_bytes),
            page_faults=numbers.count(times[name].page_faults),
        )
        for name in order_modes(times)
    )


def kernels(workload: Workload) -> tuple[KernelRow, ...]:
    """Kernels of every profiled mode, with how often each name ran."""
    profiles = workload.profile
    return tuple(
        KernelRow(
            mode=mode,
            count=numbers.count(profiles[mode].kernels),
            names=tuple(Counter(profiles[mode].names).items()),
            reason=profiles[mode].reason,
            alike=_alike(profiles[mode].same_as) if profiles[mode].same_as else "",
        )
        for mode in order_modes(profiles)
    )


def modes_alike(workload: Workload, timed_modes: Container[str]) -> tuple[str, ...]:
    """A sentence for each mode that compiled nothing, and that is therefore not among those timed."""
    profiles = workload.profile
    alike = [mode for mode in order_modes(profiles) if profiles[mode].same_as and mode not in timed_modes]
    return tuple(f"{mode} {_alike(profiles[mode].same_as)}" for mode in alike)


def matrix(workload: Workload) -> tuple[tuple[str, tuple[CellRow, ...]], ...]:
    """Rows are frontends, columns compilers; empty where nothing was compiled."""
    if not workload.compiled:
        return ()
    return tuple(
        (frontend, tuple(_cell(workload, Cell(frontend, compiler)) for compiler in SIDES)) for frontend in SIDES
    )


def compiler_options(workload: Workload) -> str:
    """The compiler options of jax/tuned, as in XLA_FLAGS; empty if the port declares none."""
    return " ".join(f"{name}={numbers.scalar(value)}" for name, value in workload.compiler_options.items())


def page_faults_in_words(workload: Workload) -> str:
    """One sentence where the port maps memory anew in every call and the fastest TF mode does not; else empty."""
    fastest = against_best(workload)
    if fastest is None or fastest.pair is None:
        return ""
    timing, mode = workload.timing or Timing(), fastest.pair.right
    own, other = (_page_faults(timing, mode_name) for mode_name in (PORT, mode))
    own_median = median(timing, PORT)
    if own is None or other is None or own_median is None:
        return ""
    if own < max(LARGE_PAGE_FAULTS, 10 * other, FAULTS_SHARE * own_median / FAULT_S):
        return ""
    return (
        f"{PORT} takes {numbers.count(own)} page faults a call, {mode} {numbers.count(other)}, "
        f"about a microsecond each: its memory is mapped anew each time. {_without_faults(timing)}"
        f"{LARGE_PAGES} in the environment asks for large pages"
    )


def _without_faults(timing: Timing) -> str:
    """The port's time with retained memory; empty if it was not measured."""
    ratio, fault_count = recorded_ratio(timing, Pair(JAX_RETAINED, PORT)), _page_faults(timing, JAX_RETAINED)
    if ratio is None or ratio.withheld or fault_count is None:
        return ""
    faults = numbers.count(fault_count)
    return f"Where the C library keeps it there are {faults}, and the time is {ratio.ratio} {ratio.interval} of that. "


def environment(record: Record) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The machine, then each side; nothing of what is not known."""
    host = record.environment or Environment()
    machine = (
        ("jaxport", host.jaxport),
        ("python", host.python),
        ("platform", host.platform),
        ("cpu", host.cpu),
        ("narrow floats", host.narrow_floats or None),
        ("cores", host.cores),
    )
    groups = [("machine", machine), *((SIDES.get(side, side), facts.items()) for side, facts in host.sides.items())]
    fact_groups = [
        (name, tuple((key, str(value)) for key, value in facts if value is not None)) for name, facts in groups
    ]
    return tuple((name, facts) for name, facts in fact_groups if facts)


def main_pass(workload: Workload) -> str:
    """The pass that was compiled, profiled and timed, in words; empty in records of older versions."""
    if workload.unrolled:
        return f"{workload.unrolled} training steps in one program, times per step"
    return PASS_WORDS.get(workload.main_pass, workload.main_pass)


def other_pass(workload: Workload) -> str:
    """The main pass in words if it is not the default; else empty."""
    return main_pass(workload) if workload.main_pass and workload.main_pass != default_pass(workload.passes) else ""


def cost(workload: Workload) -> str:
    """The operations and bytes that the mathematics needs, with the source; empty if the workload declares none."""
    declared_cost = present(workload.cost)
    if declared_cost is None:
        return ""
    figures = f"{numbers.operations(declared_cost.flops)}, {numbers.binary_bytes(declared_cost.bytes)} moved"
    if other_pass(workload):
        figures = f"{PASS_WORDS[default_pass(workload.passes)]}: {figures}"
    return f"{figures} ({declared_cost.source})" if declared_cost.source else figures


def _alike(mode: str) -> str:
    return f"compiled nothing: the same as {mode}, not timed again"


def _page_faults(timing: Timing, mode: Mode) -> float | None:
    mode_times = timing.modes.get(str(mode))
    return numbers.finite(mode_times.page_faults) if mode_times else None


def _cell(workload: Workload, cell: Cell) -> CellRow:
    name = str(cell)
    compiled = present(workload.compiled.get(name)) or Compiled(reason="not compiled")
    if compiled.reason:
        return CellRow(name, (), compiled.reason)
    mode_times = (workload.timing or Timing()).cells.get(name)
    facts = (
        ("median time", numbers.seconds(mode_times.median_s if mode_times else None)),
        ("kernels", numbers.count(compiled.kernels)),
        ("fusions", numbers.count(compiled.fusions)),
        ("instructions", numbers.count(compiled.instructions)),
        ("temporary memory", numbers.binary_bytes(compiled.temp_bytes)),
        ("executable", numbers.binary_bytes(compiled.executable_bytes)),
        ("arithmetic", numbers.operations(compiled.flops)),
        ("bytes accessed", numbers.binary_bytes(compiled.bytes)),
        ("compile time", numbers.seconds(compiled.compile_s)),
        (f"difference from {compiled.held_against or TF_CELL}", _difference(cell, compiled)),
    )
    return CellRow(name, facts, "")


def _difference(cell: Cell, compiled: Compiled) -> str:
    inexact = compiled.held_against not in ("", str(TF_CELL))
    return "the reference" if cell == TF_CELL and not inexact else numbers.error(compiled.error)
