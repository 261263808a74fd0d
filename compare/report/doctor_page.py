"""A diagnosis as a page: blockers, then findings that need a decision, then layers and what `jaxport init` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from compare.record.diagnosis_part import ATTENTION, BLOCKER, NOTE, Diagnosis, Finding, LayerKind, OperationKind
from compare.report import doctor_words as words
from compare.report import page_html
from compare.report.numbers import count_of
from compare.report.pages import Block, Cell, Column, Folded, Lines, Page, Section, Table, columns
from compare.report.program_texts import file_stem

_PLACES = 3
"""Places in a line: the others stand behind a click."""
_MOST = 25
"""Findings of one severity on a console: the page has all of them."""
_LONGEST_STEM = 100
_LAYERS = (
    *(Column("layer"), Column("", "number"), Column("ported by"), Column("counterpart", "wrap")),
    *(Column("an example, in Keras, JAX and Flax NNX", "code wrap", "page"), Column("note", "wrap", "page")),
    *(Column("names", room="page"), Column("undecided gotchas", room="page")),
)
_OF_LAYERS = (
    "What ports layers is a count by the map of layers, whose rows are executed: no estimate of time. A layer counts "
    "for jaxport's library where a gotcha that applies to it names a function there.",
    "Examples are the rows of the map, and have the attributes of the row, not of your layers; w are the weights of "
    "the layer in order.",
    "Undecided gotchas concern a class or an operation, and none of its attributes decides whether they apply.",
)
_OPERATIONS = (
    *(Column("operation", "code"), *columns("in all", "in layers", kind="number"), Column("compiles")),
    *(Column("an example of the map", "code wrap"), Column("first place", "wrap")),
    Column("undecided gotchas"),
)
_OF_OPERATIONS = (
    "What only carries values, such as Identity and reads of variables, is left out. Compiles: whether TensorFlow's "
    "XLA has a kernel on a CPU."
)
_COMPILES = {True: Cell("yes"), False: Cell("no", "fail"), None: Cell("not known")}


def write_page(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write NAME.html into the folder, making the folder where there is none; returns its path."""
    return page_html.write_page(page(diagnosis), folder / f"{page_stem(diagnosis.target)}.html")


def page_stem(target: str) -> str:
    """The name of a model on its page: its folder, its file, or FILE.NAME for code."""
    where, colon, name = target.rpartition(":")
    path = Path(where if colon and where.endswith(".py") else target)
    stem = path.resolve().name if path.is_dir() else path.stem
    return file_stem(f"{stem}.{name}" if colon and where.endswith(".py") else stem)[:_LONGEST_STEM]


def page(diagnosis: Diagnosis, most: int | None = None) -> Page:
    """The page on the parts of a model.

    Args:
      most: findings of one severity, for a console; None is all.
    """
    versions = [f"written by {package} {version}" for package, version in diagnosis.versions.items()]
    read = [f"read: {', '.join(diagnosis.entries)}"] if diagnosis.entries else []
    sections = (*_findings(diagnosis, most), _layers(diagnosis), _operations(diagnosis), _model(diagnosis))
    return Page(
        command="jaxport doctor",
        title=diagnosis.target,
        summary=f"{words.headline(diagnosis)}. {words.summary(diagnosis)}.",
        origin=[*read, *versions],
        sections=[section for section in (*sections, _port(diagnosis)) if section.blocks or section.summary],
    )


def console_page(diagnosis: Diagnosis) -> Page:
    """The page, shortened for a console."""
    return page(diagnosis, _MOST)


def _findings(diagnosis: Diagnosis, most: int | None) -> Iterator[Section]:
    for severity, name in ((BLOCKER, "Blockers"), (ATTENTION, "Decisions"), (NOTE, "Notes")):
        findings = [finding for finding in diagnosis.findings if finding.severity == severity]
        blocks = [block for finding in findings[:most] for block in _finding(finding)]
        more = [] if most is None or len(findings) <= most else [f"and {len(findings) - most} more, on the page"]
        if severity == NOTE and findings:
            blocks = [Folded(count_of(len(findings), "note"), blocks)]
        yield Section(name, blocks=blocks, conclusions=more, is_on_page_alone=severity == NOTE)


def _finding(finding: Finding) -> Iterator[Block]:
    """The blocks of a finding: the finding, what to do about it, and where."""
    fails = f"; the likely port fails {finding.gate}" if finding.gate else ""
    gotcha = f"jaxport lookup gotchas {finding.gotcha}{fails}" if finding.gotcha else ""
    places = words.list_places(finding.places[:_PLACES], finding.count)
    lines = (f"{finding.what} {finding.advice}".strip(), gotcha, places and f"at {places}")
    yield Lines(list(filter(None, lines)), title=f"{words.title(finding)} [{finding.kind}]")
    if len(finding.places) > _PLACES:
        yield Folded(f"{finding.count} places", [Lines(words.each_place(finding.places, finding.count))])


def _layers(diagnosis: Diagnosis) -> Section:
    rows = [_layer(layer) for layer in diagnosis.layers]
    blocks = [Table(_LAYERS, rows, "layers"), Folded("About this table", [Lines(_OF_LAYERS, "note")])]
    return Section("Layers", conclusions=words.effort(diagnosis), blocks=blocks if rows else ())


def _layer(layer: LayerKind) -> Sequence[Cell | str]:
    module = layer.module if layer.module != "keras.layers" else ""
    to_write = [f"to be written: {line}" for line in layer.left] if layer.flax or layer.linen else []
    example = "\n".join(filter(None, (*layer.example[:1], layer.jax, *layer.example[1:2])))
    name, count = Cell(words.kind_of(layer), note=module), str(len(layer.names))
    return (
        *(name, count, words.means(layer), words.counterpart(layer)),
        *(example, ". ".join(filter(None, (*to_write, layer.source, layer.note)))),
        *(Cell("", names=layer.names), Cell("", names=layer.general)),
    )


def _operations(diagnosis: Diagnosis) -> Section:
    rows = [_operation(operation) for operation in diagnosis.operations]
    blocks = [Table(_OPERATIONS, rows), Lines([_OF_OPERATIONS], "note")] if rows else []
    return Section("Operations", blocks=blocks, is_on_page_alone=True)


def _operation(operation: OperationKind) -> Sequence[Cell | str]:
    counts = (f"{operation.count:,}", f"{operation.in_layers:,}")
    example, place = "; ".join(operation.counterparts), words.list_places(operation.places[:1], 1)
    return operation.type, *counts, _COMPILES[operation.compiles], example, place, Cell("", names=operation.gotchas)


def _model(diagnosis: Diagnosis) -> Section:
    rows = [("input", array.name, array.type) for array in diagnosis.inputs]
    rows += [("output", array.name, array.type) for array in diagnosis.outputs]
    weights = f", {diagnosis.weights:,} numbers in them" if diagnosis.weights else ""
    variables = Lines([f"{count_of(diagnosis.variables, 'variable')}{weights}."])
    table = Table((Column(""), *columns("name", "type", kind="code")), rows, "inputs and outputs")
    return Section("Inputs and outputs", blocks=[table, variables], is_on_page_alone=True)


def _port(diagnosis: Diagnosis) -> Section:
    command = [diagnosis.command] if diagnosis.command and not diagnosis.no_port else []
    lines = [Lines(diagnosis.places or ()), Lines(command, "strong")]
    summary = words.of_init(diagnosis)
    return Section("The port", summary, blocks=lines if summary else ())
