"""All that a page shows of one workload, part by part. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from compare.record.parity_part import Parity
from compare.record.timing_part import Timing
from compare.record.workload_part import Workload
from compare.report import (
    attributions,
    charts,
    compilers,
    cost_charts,
    costs,
    narrow_arithmetic,
    node_rows,
    numbers,
    pages,
    program_texts,
    reach,
    rooflines,
    tables,
    target_rows,
    timing_notes,
    verdicts,
)
from compare.report.overviews import OverviewRow
from compare.report.pages import Charts, Lines
from workloads._dimensions import describe_dimensions
from workloads._modes import JAX_JIT, JAX_TUNED


@dataclass(frozen=True)
class DeviationRow:
    """A bound that was not the default, and what was observed under it."""

    gate: str
    kind: str
    where: str
    bound: str
    observed: str
    reason: str


@dataclass(frozen=True)
class SizeRow:
    """The parity verdict at one other size."""

    dimensions: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class ParitySection:
    """Gates, what qualifies them, and training losses."""

    gates: Sequence[verdicts.GateRow]
    facts: Sequence[tuple[str, str]]
    """Where the float64 reference of each pass comes from, and which modes the port equals bit for bit."""
    places: Sequence[str]
    """Where the pass that fails departs from TensorFlow's."""
    deviations: Sequence[DeviationRow]
    findings: Sequence[str]
    sizes: Sequence[SizeRow]
    reach: Sequence[reach.ReachRow]
    reach_key: Sequence[tuple[str, str]]
    reach_chart: Markup
    losses: Markup
    loss_gaps: Sequence[tuple[str, str, str, int]]


@dataclass(frozen=True)
class ProgramSection:
    """Both programs as handed to XLA, and what was made of them."""

    opcodes: Sequence[program_texts.OpcodeRow]
    programs: Sequence[program_texts.Pane]
    same_program: bool
    stages: Sequence[tuple[str, Sequence[program_texts.Pane]]]
    modules: Sequence[program_texts.Pane]
    alignment: str
    frontier: Sequence[program_texts.FrontierRow]
    page: str
    """The path of the page that shows both, value by value."""
    made: Sequence[compilers.Group]


@dataclass(frozen=True)
class TimingSection:
    """Cells, kernels, times and their ratios."""

    matrix: Sequence[tuple[str, Sequence[tables.CellRow]]]
    kernels: Sequence[tables.KernelRow]
    modes: Sequence[tables.ModeRow]
    modes_alike: Sequence[str]
    """Which modes have no row because they compiled nothing."""
    ratios: Sequence[tables.RatioRow]
    attribution: str
    page_faults: str
    narrow: tuple[str, ...]
    timing_chart: Markup
    ratio_chart: Markup


@dataclass(frozen=True)
class ConditionsSection:
    """Under which conditions times were taken."""

    threads: timing_notes.Threads | None
    planted: Sequence[tables.RatioRow]
    smallest: Sequence[tuple[str, str]]
    by_threads: timing_notes.ByThreads | None
    peers: Sequence[timing_notes.PeerRow]


@dataclass(frozen=True)
class Section:
    """One workload on the page."""

    row: OverviewRow
    node: str
    """That it was judged and timed on; "" where there was one machine."""
    summary: str
    source: str
    main_pass: str
    cost: str
    facts: Sequence[tuple[str, str]]
    failures: Sequence[verdicts.FailureRow]
    why_missing: str
    parity: ParitySection
    programs: ProgramSection
    targets: Sequence[target_rows.TargetRows]
    timing: TimingSection
    conditions: ConditionsSection
    costs: Sequence[pages.Section]
    """Startup, the roofline, and batch sizes."""


def section(row: OverviewRow, workload: Workload) -> Section:
    """The section of one workload, below its row of the overview."""
    return Section(
        row=row,
        node=node_rows.of_workload(workload),
        summary=workload.summary,
        source=workload.source,
        main_pass=tables.main_pass(workload),
        cost=tables.cost(workload),
        facts=_facts(workload),
        failures=verdicts.failures(workload),
        why_missing=verdicts.why_missing(workload),
        parity=_parity(workload),
        programs=_programs(workload, row.name),
        targets=[target_rows.rows(name, target) for name, target in workload.targets.items()],
        timing=_timing(workload),
        conditions=_conditions(workload),
        costs=[part for part in (_startup(workload), _roofline(workload), _batches(workload)) if part],
    )


def _facts(workload: Workload) -> list[tuple[str, str]]:
    """Dimensions, then inputs with their types, then the compiler options that the port declares."""
    dimensions = [(name, numbers.scalar(value)) for name, value in workload.dimensions.items()]
    facts = [*dimensions, *workload.inputs.items()]
    options = tables.compiler_options(workload)
    return [*facts, (f"compiler options of {JAX_TUNED}", options)] if options else facts


def _parity(workload: Workload) -> ParitySection:
    parity = workload.parity or Parity()
    return ParitySection(
        gates=verdicts.gates(workload),
        facts=_parity_facts(parity),
        places=verdicts.places(workload),
        deviations=_deviations(parity),
        findings=[finding.message for finding in parity.findings],
        sizes=[
            SizeRow(describe_dimensions(size.dimensions), size.verdict or verdicts.NOT_JUDGED, size.reason)
            for size in parity.sizes
        ],
        reach=reach.rows(workload),
        reach_key=reach.key(workload),
        # Vega escapes the names that it draws; tests hold it to that.
        reach_chart=Markup(reach.chart(workload)),
        losses=Markup(charts.losses(workload)),
        loss_gaps=[(gap.first, gap.second, numbers.error(gap.error), gap.step) for gap in charts.loss_gaps(workload)],
    )


def _parity_facts(parity: Parity) -> list[tuple[str, str]]:
    facts = [(f"float64 reference, {pass_}", source) for pass_, source in parity.oracle.items()]
    return [*facts, (f"{JAX_JIT} is bit-equal to", ", ".join(parity.bit_equal))] if parity.bit_equal else facts


def _deviations(parity: Parity) -> list[DeviationRow]:
    return [
        DeviationRow(
            gate=deviation.gate,
            kind=deviation.kind or "declared",
            where=" ".join(filter(None, (deviation.pass_, deviation.leaf))),
            bound=numbers.error(deviation.bound),
            observed=numbers.error(deviation.observed),
            reason=deviation.reason,
        )
        for deviation in parity.deviations
    ]


def _programs(workload: Workload, name: str) -> ProgramSection:
    return ProgramSection(
        opcodes=program_texts.opcodes(workload),
        programs=program_texts.programs(workload),
        same_program=program_texts.same_program(workload),
        stages=program_texts.stages(workload),
        modules=program_texts.modules(workload),
        alignment=program_texts.alignment(workload),
        frontier=program_texts.frontier(workload),
        page=program_texts.page(workload, name),
        made=compilers.of_workload(workload),
    )


def _timing(workload: Workload) -> TimingSection:
    return TimingSection(
        matrix=tables.matrix(workload),
        kernels=tables.kernels(workload),
        modes=tables.modes(workload),
        modes_alike=tables.modes_alike(workload, (workload.timing or Timing()).modes),
        ratios=tables.ratios(workload),
        attribution=attributions.in_words(workload),
        page_faults=tables.page_faults_in_words(workload),
        narrow=narrow_arithmetic.in_words(workload),
        timing_chart=Markup(charts.timing(workload)),
        ratio_chart=Markup(charts.ratios(workload)),
    )


def _conditions(workload: Workload) -> ConditionsSection:
    return ConditionsSection(
        threads=timing_notes.threads(workload),
        planted=timing_notes.planted_rows(workload),
        smallest=timing_notes.smallest(workload),
        by_threads=timing_notes.by_threads(workload),
        peers=timing_notes.peers(workload),
    )


def _startup(workload: Workload) -> pages.Section | None:
    if not workload.phases:
        return None
    how = "Each mode in fresh processes of its own, without and with a warm compilation cache."
    alike = [f"{line}." for line in tables.modes_alike(workload, workload.phases)]
    remark = (
        "Derived, since the framework does not time it: the time of the first call minus lowering and one steady call."
    )
    blocks = (
        Lines([how], "note"),
        costs.phases(workload),
        Lines([*alike, *([remark] if costs.has_derived(workload) else [])], "note"),
        costs.storage(workload),
        Lines(["Sizes of arguments, outputs and temporary memory are those that XLA reports."], "note"),
    )
    return pages.Section("Startup", blocks=blocks)


def _roofline(workload: Workload) -> pages.Section | None:
    roofline = rooflines.roofline(workload)
    if roofline is None:
        return None
    caption = "The limits of this machine, and every mode at the arithmetic intensity of the stated cost"
    lines = [f"{roofline.sentence}.", *(f"lower bound from {name}: {seconds}" for name, seconds in roofline.bounds)]
    charts_shown = [(caption, cost_charts.roofline(workload))] if roofline.modes.rows else []
    return pages.Section("Roofline", blocks=(Lines(lines), Charts(charts_shown), roofline.modes))


def _batches(workload: Workload) -> pages.Section | None:
    trials, limit = costs.batches(workload), costs.batch_limit(workload)
    if not trials.rows:
        return None
    caption = f"Peak memory against batch{f', limit {limit}' if limit else ''}"
    largest = [f"{mode}: {batch}" for mode, batch in costs.largest_batches(workload)]
    blocks = (Lines(largest), Charts([(caption, cost_charts.batches(workload))]), trials)
    return pages.Section("Batch sizes", blocks=blocks)
