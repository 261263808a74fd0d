"""The page of one module of a dump: program, passes, buffers and code. From JSON alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from compare.files import Json
from compare.report import numbers
from compare.report.pages import Block, Cell, Column, Folded, Lines, Link, Page, Section, Table, columns
from compare.report.showable import entries, mapping, part, text

LONGEST = 300
"""Rows of one table on a page: dump.json has them all."""
LARGEST = 12
"""Allocations that a page shows with their values."""
WHOLE = "dump.json"

_CHANGES = {"structure": "shapes, layouts, order or attributes", "nothing": "nothing"}
_STEPS = (
    *(Column("instruction", "code"), Column("opcode"), Column("result", "code")),
    *columns("fused in it", "named by the frontend", "source", kind="code wrap"),
)
_PASSES = (
    *(Column("dump", "number"), Column("pipeline"), Column("pass", "strong"), Column("changed", "wrap")),
    Column("instructions", "number"),
)
_ALLOCATIONS = (
    *(Column("allocation", "number"), Column("bytes", "number strong"), Column("use"), Column("value", "code")),
    *(Column("opcode"), Column("shape", "code"), Column("bytes of it", "number")),
    *columns("named by the frontend", "as XLA says it", kind="code wrap"),
)
_CODE = (
    *(Column("kernel", "code"), *columns("functions before", "after", "instructions before", "after", kind="number")),
    *(*columns("bytes of text before", "after", kind="number"), Column("widest vector after LLVM's optimizer")),
    *columns("bits", "asked for", "instructions in vectors", kind="number"),
)
_MLIR = (
    *(Column("program or kernel", "code"), Column("step"), *columns("lines", "bytes", kind="number")),
    Column("operations by dialect", "wrap"),
)
_PTX = (Column("entry", "code"), Column("target"), Column("parameters", "number"), *columns("registers", "launch"))
FILES = (Column("file", "code wrap"), Column("bytes", "number"), Column("kind"))


def page(module: object) -> Page:
    """Everything that is known of one module."""
    kind = framework(module)
    return Page(
        command="jaxport dump",
        title=text(module, "function"),
        origin=[f"module {text(module, 'number')}", *([kind] if kind else []), text(module, "name")],
        sections=list(_sections(module)),
        links=[Link("All modules", "index.html")],
    )


def framework(module: object) -> str:
    """The framework that compiled a module, and its direction or cluster."""
    kind = "autocluster" if part(module, "cluster") is not None else text(module, "direction")
    return " ".join(filter(None, (text(module, "framework"), kind)))


def _sections(module: object) -> Iterator[Section]:
    problems = [(text(problem, "file"), text(problem, "reason")) for problem in entries(module, "problems")]
    if problems:
        yield Section("Not read", blocks=[Table(columns("file", "reason", kind="wrap"), problems)])
    attributes = [(name, str(value)) for name, value in mapping(module, "attributes").items()]
    if attributes:
        yield Section("The call that it was compiled for", blocks=[Table(columns("attribute", "value"), attributes)])
    yield Section("Program before and after optimization", blocks=list(_program(module)))
    yield Section("What runs, in order", blocks=list(_what_runs(module)))
    yield Section("Passes", blocks=list(_passes(module)))
    yield Section(f"Buffers: {numbers.binary_bytes(part(module, 'buffers', 'total'))}", blocks=list(_buffers(module)))
    yield Section("LLVM IR", blocks=list(_kernels(module)))
    mlir = [_lowering(row) for row in entries(module, "mlir")]
    yield Section("MLIR", blocks=[Table(_MLIR, mlir) if mlir else Lines(["No MLIR was dumped."], "note")])
    yield Section("GPU", blocks=list(_gpu(module)))
    options = list(map(str, entries(module, "options")))
    paths = files(entries(module, "files"))
    title = "Debug options that are not at their default"
    table = Table(FILES, paths, most=LONGEST, whole_in=WHOLE)
    yield Section("Files and options", blocks=[Lines(options, title=title), Folded(f"{len(paths)} files", [table])])


def _program(module: object) -> Iterator[Block]:
    stages = [part(module, "stages", stage) for stage in ("before", "after")]
    if not any(stages):
        yield Lines(["No stage of the program could be read."], "note")
        return
    counts = [
        (name, *(numbers.count(part(stage, name)) for stage in stages))
        for name in ("instructions", "computations", "fusions")
    ]
    yield Table((Column("HLO"), *columns("before", "after", kind="number")), counts)
    yield Table((Column("opcode", "code"), *columns("before", "after", "change", kind="number")), _opcodes(module))
    names = [str(name) for stage in ("before", "after") for name in entries(module, "stages", stage, "left_out")]
    if names:
        some = f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}"
        constants = numbers.count_of(len(names), "constant")
        advice = "dump with --xla_dump_hlo_as_proto to have them."
        yield Lines([f"The text leaves out the values of {constants} ({some}); {advice}"], "note")


def _opcodes(module: object) -> list[tuple[Cell | str, ...]]:
    """Opcodes with both counts and the change, the most frequent in the end first; empty unless both are known."""
    before, after = (mapping(module, "stages", stage, "opcodes") for stage in ("before", "after"))
    if not before or not after:
        return []
    names = sorted({*before, *after}, key=lambda opcode: (-_number(after, opcode), -_number(before, opcode), opcode))
    counts = [(name, _number(before, name), _number(after, name)) for name in names]
    return [
        (name, f"{first:,}", f"{second:,}", Cell(_signed_text(second - first), "strong"))
        for name, first, second in counts
    ]


def _number(counts: Json, name: str) -> int:
    return int(numbers.finite(counts.get(name)) or 0)


def _signed_text(change: float) -> str:
    return f"{change:+,.0f}" if change else ""


def _what_runs(module: object) -> Iterator[Block]:
    rows = [
        (
            _indent(row) + text(row, "name"),
            " ".join(filter(None, (text(row, "opcode"), text(row, "kind")))),
            text(row, "shape"),
            _counts(mapping(row, "within")),
            text(row, "op_name"),
            text(row, "source"),
        )
        for row in entries(module, "stages", "steps")
    ]
    if not rows:
        yield Lines(["The optimized module could not be read."], "note")
        return
    yield Table(_STEPS, rows, most=LONGEST, whole_in=WHOLE)
    yield Lines(
        [
            "Instructions of the optimized module that run code, those of loops and branches further in. Parameters, "
            "constants, tuples and bitcasts run none."
        ],
        "note",
    )


def _indent(row: object) -> str:
    """Wide spaces by depth, which HTML does not fold."""
    return "\u2003" * int(numbers.finite(part(row, "depth")) or 0)


def _counts(counts: Json) -> str:
    """Each name, as in "add, 2 multiply", with its count where there are several."""
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())


def _passes(module: object) -> Iterator[Block]:
    """Every pass that was dumped, in order; bars are as long as the module is large."""
    passes = entries(module, "stages", "passes")
    if not passes:
        yield Lines(["No pass was dumped: set --xla_dump_hlo_pass_re=.* to see which pass does what."], "note")
        return
    counts = [numbers.finite(part(row, "instructions")) or 0 for row in passes]
    most = max(counts, default=0) or 1
    rows = [_pass(row, count / most) for row, count in zip(passes, counts, strict=True)]
    changing = [row for row, plain in zip(rows, passes, strict=True) if text(plain, "changed") != "nothing"]
    if changing:
        yield Table(_PASSES, changing, "passes that changed the module", most=LONGEST, whole_in=WHOLE)
    else:
        yield Lines(["No dumped pass changed the module."])
    yield Folded(f"all {len(rows)} dumps", [Table(_PASSES, rows, "all dumps", most=LONGEST, whole_in=WHOLE)])
    yield Lines(
        [
            "A pass is charged with all that changed since the dump before it: with --xla_dump_hlo_pass_re=.* itself, "
            "for XLA then leaves out only passes that say they changed nothing; with a narrower expression perhaps "
            "others too. Names, metadata and the values of constants are not compared."
        ],
        "note",
    )


def _pass(row: object, share: float) -> tuple[Cell | str, ...]:
    after, change_text = text(row, "after"), text(row, "changed")
    opcodes = ", ".join(f"{_signed_text(numbers.finite(n) or 0)} {name}" for name, n in mapping(row, "opcodes").items())
    return (
        text(row, "order"),
        text(row, "pipeline"),
        {"": "(after the last dump)", "pipeline-start": "(pipeline starts)"}.get(after, after),
        opcodes or _CHANGES.get(change_text, "not known"),
        Cell(numbers.count(part(row, "instructions")), bar=f"{100 * share:.1f}%"),
    )


def _buffers(module: object) -> Iterator[Block]:
    buffers = part(module, "buffers")
    sizes = [(name, numbers.finite(size) or 0) for name, size in mapping(buffers, "by_use").items()]
    if not sizes:
        yield Lines(["No buffer assignment was dumped."], "note")
        return
    total = numbers.finite(part(buffers, "total")) or 0
    uses = [
        (name, Cell(numbers.binary_bytes(size), bar=f"{100 * size / total if total else 0:.1f}%"))
        for name, size in sizes
    ]
    yield Table((Column("use"), Column("bytes", "number")), uses)
    yield _peak(entries(buffers, "peak"))
    allocations = entries(buffers, "allocations")
    rows = [row for allocation in allocations[:LARGEST] for row in _allocation(allocation)]
    yield Table(_ALLOCATIONS, rows, title="Largest allocations")
    more = len(allocations) - LARGEST
    smaller = [f"{more} smaller ones: {WHOLE} has them all."] if more > 0 else []
    yield Lines([*smaller, "Values of one allocation may take turns in the same bytes."] if rows else [], "note")


def _peak(rows: Sequence[object]) -> Table:
    """The values that are live at the peak."""
    sizes = [numbers.finite(part(row, "bytes")) or 0 for row in rows]
    names = [(text(row, "instruction"), numbers.binary_bytes(size)) for row, size in zip(rows, sizes, strict=True)]
    titles = (Column("live at the peak", "code"), Column(numbers.binary_bytes(sum(sizes)), "number"))
    return Table(titles, names, most=LARGEST, whole_in=WHOLE)


def _allocation(row: object) -> Iterator[tuple[str, ...]]:
    """One buffer with its largest values, each in a row."""
    values = sorted(entries(row, "values"), key=lambda value: -(numbers.finite(part(value, "bytes")) or 0))
    use, description = text(row, "use"), text(row, "said")
    # A variable that is updated in place: XLA returns the parameter's own bytes.
    also = ", also output" if use == "parameter" and "maybe-live-out" in description else ""
    first = (text(row, "number"), numbers.binary_bytes(part(row, "bytes")), f"{use}{also}")
    more = f"and {len(values) - LARGEST} more values" if len(values) > LARGEST else ""
    for place, value in enumerate(values[:LARGEST] or [{}]):
        where = f"{text(value, 'instruction')} {text(value, 'index')}".strip() or "unknown"
        size = numbers.binary_bytes(part(value, "bytes"))
        value_texts = (where, text(value, "opcode"), text(value, "shape"), size, text(value, "op_name"))
        yield (*first, *value_texts, description) if not place else ("", "", "", *value_texts, "")
    if more:
        yield ("", "", "", more, "", "", "", "", "")


def _kernels(module: object) -> Iterator[Block]:
    rows = [_kernel(row) for row in entries(module, "kernels")]
    if not rows:
        reason = "No LLVM IR was dumped: XLA generated no code, or handed all of it to a library."
        yield Lines([reason], "note")
        return
    yield Table(_CODE, rows)
    sentence = (
        "Vectors are those that the IR names; the code generator splits what is wider than the machine's registers."
    )
    yield Lines([sentence], "note")


def _kernel(row: object) -> tuple[str, ...]:
    """A kernel's code, before and after LLVM's optimizations."""
    codes = [part(row, end) for end in ("unoptimized", "optimized")]
    last = codes[1]
    return (
        text(row, "name") or "(the whole module)",
        *(numbers.count(len(entries(code, "functions")) if code else None) for code in codes),
        *(numbers.count(part(code, "instructions")) for code in codes),
        *(numbers.binary_bytes(part(code, "bytes")) for code in codes),
        text(last, "vector") or ("none" if last else numbers.MISSING),
        numbers.count(part(last, "vector_bits")),
        numbers.count(part(last, "preferred_bits")),
        numbers.count(part(last, "vector_instructions")),
    )


def _lowering(row: object) -> tuple[str, str, str, str, str]:
    """MLIR of a kernel: name, step, lines, bytes, and how often each operation occurs."""
    name, step = text(row, "kernel") or text(row, "file"), text(row, "step") or "as the frontend handed it over"
    lines, size = numbers.count(part(row, "lines")), numbers.binary_bytes(part(row, "bytes"))
    return name, step, lines, size, _counts(mapping(row, "operations"))


def _gpu(module: object) -> Iterator[Block]:
    ptx = [_entry(file, kernel) for file in entries(module, "ptx") for kernel in entries(file, "kernels")]
    thunks = entries(module, "thunks")
    if not ptx and not thunks:
        yield Lines(["Neither PTX nor a thunk sequence was dumped."], "note")
    yield Table(_PTX, ptx)
    for row in thunks:
        yield Lines([_counts(mapping(row, "kinds"))], title=text(row, "file"))
        lines = [(_indent(thunk) + text(thunk, "kind"), text(thunk, "what")) for thunk in entries(row, "thunks")]
        yield Table((Column("thunk", "code"), Column("what", "code wrap")), lines, most=LONGEST, whole_in=WHOLE)


def _entry(file: object, kernel: object) -> tuple[str, str, str, str, str]:
    """A kernel for a GPU: name, target, parameters, registers, launch."""
    registers = ", ".join(f"{count} {kind}" for kind, count in mapping(kernel, "registers").items())
    launch = ", ".join(f"{name} {value}" for name, value in mapping(kernel, "launch").items())
    return text(kernel, "name"), text(file, "target"), numbers.count(part(kernel, "parameters")), registers, launch


def files(plain_files: Iterable[object]) -> list[tuple[str, str, str]]:
    """Path, size and kind of each file."""
    return [(text(file, "path"), numbers.binary_bytes(part(file, "bytes")), text(file, "kind")) for file in plain_files]
