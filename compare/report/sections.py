"""All that a page shows of one workload, part by part. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.record.alignment_part import Alignment
from compare.record.parity_part import Deviation, Parity
from compare.record.timing_part import Timing
from compare.record.workload_part import Workload
from compare.report import (
    attributions,
    charts,
    compilers,
    cost_sections,
    narrow_arithmetic,
    node_rows,
    numbers,
    pages,
    program_texts,
    reach,
    tables,
    target_rows,
    timing_notes,
    verdicts,
)
from compare.report.overviews import OverviewRow
from compare.report.pages import Block, Cell, Charts, Column, Folded, Lines, Table, columns
from compare.report.standings import ratio_cell
from workloads._dimensions import describe_dimensions
from workloads._modes import JAX_JIT, JAX_TUNED

_UNFOLDED = 12
"""Places of a frontier, or names of kernels, up to which they stand on the page, and not behind a click."""
_FAILURES = (*columns("side", "requested"), Column("reason", "wrap"))
_DEVIATIONS = (
    *(*columns("gate", "kind"), Column("pass and leaf", "code")),
    *(*columns("observed", "bound", kind="number"), Column("reason", "wrap")),
)
_SIZES = (Column("dimensions", "code"), Column("verdict"), Column("reason", "wrap"))
_REACH = (
    *(Column("input", "code"), *columns("pass", "verdict"), Column("where only the port breaks", "wrap")),
    *columns("first operation that breaks", "TensorFlow's line", kind="code wrap"),
)
_FRONTIER = (Column("side"), *columns("operation", "name", "source", kind="code wrap"), Column("reason", "wrap"))
_KERNELS = (Column("mode"), Column("kernels", "number"), Column("", "wrap"), Column("names", "code wrap"))
_MODES = (
    Column("mode"),
    *columns("median call", "first call", "trace", "compile", "peak memory", "page faults per call", kind="number"),
)
_MEASURED = (*columns("measured", "95 % interval", kind="number"), Column("verdict", "wrap"))
_PLANTED = (Column("planted slowdown"), *_MEASURED)
_RATIOS = (
    *(Column("time of A vs time of B"), *_MEASURED),
    *columns("pairs", "rounds", "variance between pairs", kind="number"),
)
_PEERS = (
    *(*columns("peer", "version"), Column("parity", "wrap"), Column("median call", "number")),
    Column("time of jax/jit vs the peer's", "wrap"),
)


@dataclass(frozen=True)
class ProgramSection:
    """Both programs as handed to XLA, and what was made of them."""

    opcodes: Sequence[program_texts.OpcodeRow]
    programs: Sequence[program_texts.Pane]
    same_program: bool
    stages: Sequence[tuple[str, Sequence[program_texts.Pane]]]
    modules: Sequence[program_texts.Pane]
    alignment: str
    frontier: Sequence[Block]
    page: str
    """The path of the page that shows both, value by value."""
    made: Sequence[compilers.Group]
    matrix: Sequence[tuple[str, Sequence[tables.CellRow]]]


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
    failures: Table
    why_missing: str
    places: Sequence[Block]
    """Where the pass that fails departs from TensorFlow's."""
    gates: Sequence[verdicts.GateRow]
    parity: Sequence[Block]
    """What qualifies the gates, and training losses."""
    programs: ProgramSection
    kernels: Table
    targets: Sequence[target_rows.TargetRows]
    attributions: Sequence[str]
    timing: Sequence[Block]
    conditions: Sequence[Block]
    """Under which times were taken."""
    costs: Sequence[pages.Section]
    """Startup, the roofline, and batch sizes."""


def section(row: OverviewRow, workload: Workload) -> Section:
    """The section of one workload, below its row of the overview."""
    remarks = (attributions.in_words(workload), tables.page_faults_in_words(workload))
    return Section(
        row=row,
        node=node_rows.of_workload(workload),
        summary=workload.summary,
        source=workload.source,
        main_pass=tables.main_pass(workload),
        cost=tables.cost(workload),
        facts=_facts(workload),
        failures=Table(
            _FAILURES, [(row.side, row.doing, row.reason) for row in verdicts.failures(workload)], "failures"
        ),
        why_missing=verdicts.why_missing(workload),
        gates=verdicts.gates(workload),
        places=[Lines(verdicts.places(workload), title="Where the pass that fails departs")],
        parity=_parity(workload),
        programs=_programs(workload, row.name),
        kernels=Table(_KERNELS, [_kernels(row) for row in tables.kernels(workload)], "kernels"),
        targets=[target_rows.rows(name, target) for name, target in workload.targets.items()],
        attributions=[*filter(None, remarks), *narrow_arithmetic.in_words(workload)],
        timing=_timing(workload),
        conditions=_conditions(workload),
        costs=cost_sections.sections(workload),
    )


def _facts(workload: Workload) -> list[tuple[str, str]]:
    """Dimensions, then inputs with their types, then the compiler options that the port declares."""
    dimensions = [(name, numbers.scalar(value)) for name, value in workload.dimensions.items()]
    facts = [*dimensions, *workload.inputs.items()]
    options = tables.compiler_options(workload)
    return [*facts, (f"compiler options of {JAX_TUNED}", options)] if options else facts


def _parity(workload: Workload) -> list[Block]:
    parity = workload.parity or Parity()
    sizes = [(describe_dimensions(size.dimensions), verdicts.cell(size.verdict), size.reason) for size in parity.sizes]
    swept = [
        (row.input, row.pass_, verdicts.cell(row.verdict), "\n".join(row.said), row.operation, row.original)
        for row in reach.rows(workload)
    ]
    key = ", ".join(f"{mark} {sentence}" for mark, sentence in reach.key(workload))
    svg = reach.chart(workload)
    gaps = [
        f"Largest difference between {gap.first} and {gap.second}: {numbers.error(gap.error)} of the loss, at step "
        f"{gap.step}."
        for gap in charts.loss_gaps(workload)
    ]
    return [
        Lines(_parity_facts(parity)),
        Table(_DEVIATIONS, [_deviation(deviation) for deviation in parity.deviations], title="Deviations"),
        Lines([finding.message for finding in parity.findings], title="Where TensorFlow's own modes disagree"),
        Table(_SIZES, sizes, title="At other sizes"),
        Table(_REACH, swept, title="Input ranges"),
        *([Folded("Chart of every call", [Charts([(key, svg)])])] if svg else []),
        Charts([("Training loss: TF wide, JAX thin", charts.losses(workload))]),
        Lines(gaps, "note"),
    ]


def _parity_facts(parity: Parity) -> list[str]:
    """Where the float64 reference of each pass comes from, and which modes the port equals bit for bit."""
    facts = [f"float64 reference, {pass_}: {source}" for pass_, source in parity.oracle.items()]
    return [*facts, f"{JAX_JIT} is bit-equal to {', '.join(parity.bit_equal)}"] if parity.bit_equal else facts


def _deviation(deviation: Deviation) -> Sequence[str]:
    """A bound that was not the default, and what was observed under it."""
    where = " ".join(filter(None, (deviation.pass_, deviation.leaf)))
    errors = numbers.error(deviation.observed), numbers.error(deviation.bound)
    return deviation.gate, deviation.kind or "declared", where, *errors, deviation.reason


def _programs(workload: Workload, name: str) -> ProgramSection:
    departures = (workload.alignment or Alignment()).frontier
    rows = [
        (departure.side, departure.op, departure.name, departure.source, departure.reason) for departure in departures
    ]
    title = f"Frontier: the programs diverge in {numbers.count_of(len(rows), 'place')}"
    frontier = Table(_FRONTIER, rows, title=title if len(rows) <= _UNFOLDED else "")
    return ProgramSection(
        opcodes=program_texts.opcodes(workload),
        programs=program_texts.programs(workload),
        same_program=program_texts.same_program(workload),
        stages=program_texts.stages(workload),
        modules=program_texts.modules(workload),
        alignment=program_texts.alignment(workload),
        frontier=[frontier if len(rows) <= _UNFOLDED else Folded(title, [frontier])],
        page=program_texts.page(workload, name),
        made=compilers.of_workload(workload),
        matrix=tables.matrix(workload),
    )


def _kernels(row: tables.KernelRow) -> Sequence[Cell | str]:
    names = [f"{name} x{times}" if times > 1 else name for name, times in row.names]
    names_cell = Cell(", ".join(names)) if len(names) <= _UNFOLDED else Cell("", names=names)
    why = " ".join(filter(None, (row.reason, row.alike and f"{row.alike}.")))
    return row.mode, Cell(row.count, "strong"), why, names_cell


def _timing(workload: Workload) -> list[Block]:
    """Charts, times and their ratios; nothing where nothing was timed."""
    modes = [
        (row.mode, Cell(row.median, "strong"), row.first_call, row.trace, row.compile, row.peak, row.page_faults)
        for row in tables.modes(workload)
    ]
    ratios = [
        (Cell(row.name, note="(identical code)" if row.null else ""), *_ratio(row), row.pairs, row.rounds,
         row.between_pair_share)
        for row in tables.ratios(workload)
    ]  # fmt: skip
    if not modes and not ratios:
        return []
    alike = [f"{line}." for line in tables.modes_alike(workload, (workload.timing or Timing()).modes)]
    times = [
        ("Time of a call in each mode", charts.timing(workload)),
        ("Time ratios: left of the line, the first is faster", charts.ratios(workload)),
    ]
    return [
        Charts(times),
        Table(_MODES, modes, "times"),
        Lines(alike, "note"),
        Table(_RATIOS, ratios, "time ratios"),
    ]


def _ratio(row: tables.RatioRow) -> Sequence[Cell | str]:
    return Cell(row.ratio, "strong"), row.interval, verdicts.cell(row.verdict, row.withheld)


def _conditions(workload: Workload) -> list[Block]:
    threads, slowdowns = timing_notes.threads(workload), timing_notes.planted_rows(workload)
    withheld = "" if threads is None or threads.equal else "withheld "
    usage = f"{withheld}Threads: {'; '.join(filter(None, (threads.sentence, threads.reason)))}." if threads else ""
    smallest = [
        f"{mode}: smallest slowdown detected with 95 % probability: {slowdown}."
        for mode, slowdown in timing_notes.smallest(workload)
    ]
    return [
        Lines([usage] if usage else [], "warning" if withheld else "note"),
        Lines(smallest, title="Statistical power"),
        Table(_PLANTED, [(row.name, *_ratio(row)) for row in slowdowns], "planted slowdowns"),
        *_by_threads(timing_notes.by_threads(workload)),
        Table(
            _PEERS,
            [_peer(peer) for peer in timing_notes.peers(workload)],
            "peers",
            "Peers: other ways to run this model in JAX",
        ),
    ]


def _by_threads(times: timing_notes.ByThreads | None) -> list[Block]:
    if times is None:
        return []
    counts = [f"{count} thread{'' if count == '1' else 's'}" for count in times.counts]
    titles = [title for count in counts for title in (count, "speed-up")]
    medians = [(mode, *(text for pair in cells for text in pair)) for mode, cells in times.rows]
    ratios = [(name, *map(ratio_cell, rows)) for name, rows in times.ratios]
    return [
        Table((Column("mode"), *columns(*titles, kind="number")), medians, title="By number of threads"),
        Table(columns("time of A vs time of B", *counts), ratios, "time ratios by number of threads"),
    ]


def _peer(row: timing_notes.PeerRow) -> Sequence[Cell | str]:
    verdict = verdicts.cell(row.verdict)
    return row.name, row.version, Cell(verdict.text, verdict.tone, row.reason), row.median, ratio_cell(row.ratio)
