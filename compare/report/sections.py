"""All that a page shows of one workload, part by part. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compare.record.alignment_part import Alignment
from compare.record.parity_part import Deviation, Parity
from compare.record.timing_part import Timing
from compare.record.vocabulary import FAIL, NOT_APPLICABLE
from compare.record.workload_part import Workload
from compare.report import (
    attributions,
    charts,
    compilers,
    cost_sections,
    narrow_arithmetic,
    node_rows,
    numbers,
    program_texts,
    reach,
    report_words,
    tables,
    target_blocks,
    timing_notes,
    verdicts,
)
from compare.report.overviews import OverviewRow
from compare.report.pages import (
    Beside,
    Block,
    Cell,
    Charts,
    Column,
    Facts,
    Folded,
    Lines,
    Link,
    Links,
    Panes,
    Part,
    Section,
    Table,
    columns,
)
from compare.report.standings import ratio_cell
from workloads.core.dimensions import describe_dimensions
from workloads.core.modes import JAX_JIT, JAX_TUNED

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
_OPCODES = (Column("operation", "code"), *columns("TF", "JAX", "JAX \N{MINUS SIGN} TF", kind="number"))
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


def section(row: OverviewRow, workload: Workload) -> Section:
    """The section of one workload, below its row of the overview."""
    lacks = verdicts.why_missing(workload)
    remarks = filter(None, (attributions.in_words(workload), tables.page_faults_in_words(workload)))
    conclusions = [f"{line}." for line in (*remarks, *narrow_arithmetic.in_words(workload))]
    failures = [(failure.side, failure.doing, failure.reason) for failure in verdicts.failures(workload)]
    compiler_notes = compilers.of_workload(workload)
    differences = Folded("Differences between the frontends and between the compilers", [Beside(compiler_notes)])
    timing = [
        Lines(conclusions, "strong"),
        *([differences] if compiler_notes else []),
        *(_timing(workload) or _absent("Nothing was timed", lacks)),
        *_conditions(workload),
    ]
    targets = [target_blocks.part(name, target) for name, target in workload.targets.items()]
    return Section(
        name=row.name,
        summary=workload.summary,
        anchor=row.anchor,
        verdict=verdicts.cell(row.verdict),
        blocks=[
            Facts(_facts(row, workload)),
            *([Part("Missing results", [Table(_FAILURES, failures, "failures")], "fail")] if failures else []),
            Part("Parity", [*_gates(workload, lacks), *_parity(workload)]),
            Part("Programs", list(_programs(workload, row.name, lacks))),
            Part("Compiled modules", list(_modules(workload, lacks))),
            *([Part("Targets", [Lines([target_blocks.NOTHING_RAN], "note"), *targets])] if targets else []),
            Part("Timing", timing),
            *(Part(part.name, part.blocks) for part in cost_sections.sections(workload)),
        ],
    )


def _absent(what: str, lacks: str) -> list[Block]:
    return [Lines([f"{what}: {lacks}."], "note")]


def _facts(row: OverviewRow, workload: Workload) -> list[tuple[str, str]]:
    """Its size, dimensions, inputs with their types, and where it comes from."""
    facts = [
        ("size", ", ".join(filter(None, (row.size or numbers.MISSING, row.dtype)))),
        ("node", node_rows.of_workload(workload)),
        *((name, numbers.scalar(value)) for name, value in workload.dimensions.items()),
        *workload.inputs.items(),
        (f"compiler options of {JAX_TUNED}", tables.compiler_options(workload)),
        ("compiled and timed", tables.main_pass(workload)),
        ("cost", tables.cost(workload)),
        ("source", workload.source),
    ]
    return [(name, text) for name, text in facts if text]


def _gates(workload: Workload, lacks: str) -> list[Block]:
    parts = [_gate(gate) for gate in verdicts.gates(workload)]
    places = Lines(verdicts.places(workload), title="Where the pass that fails departs")
    return [places, *(parts or _absent("Parity was not judged", lacks))]


def _gate(gate: verdicts.GateRow) -> Part:
    """A gate with its leaves: those that pass are folded where they are many, all others never."""
    explanation = report_words.GATES.get(gate.name, "") if gate.verdict != NOT_APPLICABLE else ""
    messages = [leaf.message for leaf in gate.failing if leaf.message] or [gate.message]
    has_failed = bool(gate.failing) or gate.verdict == FAIL
    more = f"{numbers.count_of(len(messages) - 1, 'more message')}"
    is_folded = len(gate.passing) > _UNFOLDED
    leaves_shown = (*gate.failing, *gate.unjudged, *(() if is_folded else gate.passing))
    blocks = [
        Lines([explanation] if explanation else [], "note"),
        Lines(messages[:1] if has_failed else [], "fail"),
        *([Folded(more, [Lines(messages[1:], "fail")])] if has_failed and len(messages) > 1 else []),
        _leaves(leaves_shown, gate.against),
        *([Folded(f"{len(gate.passing)} passing leaves", [_leaves(gate.passing, gate.against)])] if is_folded else []),
    ]
    reason = "" if gate.verdict == FAIL else gate.reason
    return Part(gate.name, blocks, verdict=verdicts.cell(gate.verdict), note=reason)


def _leaves(leaves: Sequence[verdicts.LeafRow], against: str) -> Table:
    titles = [
        *(*columns("verdict", "pass", "case"), Column("leaf", "code wrap"), Column("dtype")),
        Column("compared", group=against),
        *(Column(title, "number", group=against) for title in ("error", "bound", "error ÷ bound")),
        *(Column("TF eager vs TF XLA", "number"), Column("worst element", "code wrap")),
    ]
    return Table(titles, list(map(_leaf, leaves)), "compared leaves", most=len(leaves), hints=report_words.COLUMNS)


def _leaf(leaf: verdicts.LeafRow) -> tuple[Cell | str, ...]:
    return (
        *(verdicts.cell(leaf.verdict), leaf.pass_, Cell(leaf.case, hint=report_words.explain_case(leaf.case))),
        *(leaf.leaf, leaf.dtype, leaf.compared, Cell(leaf.error, "strong"), leaf.bound, leaf.used),
        *("" if leaf.noise == numbers.MISSING else leaf.noise, leaf.worst),
    )


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


def _programs(workload: Workload, name: str, lacks: str) -> Iterator[Block]:
    """Both programs as handed to XLA, where they diverge, and every stage before."""
    alignment, page = program_texts.alignment(workload), program_texts.page(workload, name)
    same = program_texts.same_program(workload)
    yield Lines([
        *([f"{alignment}."] if alignment else []),
        *(["Both frontends handed XLA the same text (equal sha256)."] if same else []),
    ])  # fmt: skip
    yield Links([Link("Both programs, value by value", page)] if page and alignment else [])
    yield from _frontier(workload)
    if panes := program_texts.programs(workload):
        rows = [
            (Cell(row.opcode, "differs" if row.difference else ""), row.tf, row.jax, Cell(row.difference, "strong"))
            for row in program_texts.opcodes(workload)
        ]
        opcodes = Table(_OPCODES, rows, "operations", most=len(rows))
        yield Beside([*([opcodes] if rows else []), Panes(panes)])
    else:
        yield from _absent("No program was lowered", lacks)
    for stage, texts in program_texts.stages(workload):
        yield Folded(f"Stage {stage}", [Panes(texts)])


def _frontier(workload: Workload) -> list[Block]:
    departures = (workload.alignment or Alignment()).frontier
    rows = [
        (departure.side, departure.op, departure.name, departure.source, departure.reason) for departure in departures
    ]
    title = f"Frontier: the programs diverge in {numbers.count_of(len(rows), 'place')}"
    if len(rows) <= _UNFOLDED:
        return [Table(_FRONTIER, rows, title=title)]
    return [Folded(title, [Table(_FRONTIER, rows)])]


def _modules(workload: Workload, lacks: str) -> Iterator[Block]:
    """Blocks on the modules of each compiler and program, and on the kernels that ran."""
    cells = [cell for _, of_frontend in tables.matrix(workload) for cell in of_frontend]
    if cells:
        yield Facts([(cell.name, cell.reason) for cell in cells if cell.reason])
        yield _matrix([cell for cell in cells if not cell.reason])
    else:
        yield from _absent("Nothing was compiled", lacks)
    for module in program_texts.modules(workload):
        yield Folded(f"Optimized module {module.title}", [Panes([module])])
    kernels = [_kernels(row) for row in tables.kernels(workload)]
    yield Table(_KERNELS, kernels, "kernels", "Kernels executed, counted by the profiler")
    if not kernels:
        yield from _absent("No mode was profiled", lacks)


def _matrix(cells: Sequence[tables.CellRow]) -> Table:
    """A column a cell: one frontend's program compiled by one side's XLA."""
    titles = dict.fromkeys(title for cell in cells for title, text in cell.facts if text != numbers.MISSING)
    rows = [(title, *(dict(cell.facts).get(title, numbers.MISSING) for cell in cells)) for title in titles]
    return Table(
        (Column("program @ compiler"), *columns(*(cell.name for cell in cells), kind="number")),
        rows,
        "frontend by compiler",
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
