"""Rows of a dump's pages: what was dumped of one module, as text. From JSON alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare.report import numbers
from compare.report.showable import entries, mapping, part, text

LARGEST = 12
"""Allocations that a page shows with their values."""

_CHANGES = {"structure": "shapes, layouts, order or attributes", "nothing": "nothing"}


@dataclass(frozen=True)
class ModuleRow:
    """A module before and after optimization, its code and its buffers."""

    number: str
    function: str
    framework: str
    before: str
    after: str
    fusions: str
    kernels: str
    vector: str
    buffers: str
    temp: str
    problems: str


@dataclass(frozen=True)
class PassRow:
    """A compiler pass: how large the module is after it, and what it changed."""

    order: str
    pipeline: str
    name: str
    instructions: str
    bar: str
    """The width of a bar, as CSS has it."""
    changes: bool
    changed: str


@dataclass(frozen=True)
class StepRow:
    """An instruction of the optimized module."""

    indent: str
    """As CSS has it."""
    name: str
    opcode: str
    shape: str
    within: str
    """Of a fusion, what it computes."""
    op_name: str
    source: str


@dataclass(frozen=True)
class CodeRow:
    """LLVM's code of a kernel; lists are of before and after its optimizations."""

    name: str
    functions: list[str]
    instructions: list[str]
    bytes: list[str]
    vector: str
    bits: str
    vectors: str
    preferred: str


@dataclass(frozen=True)
class ThunksRow:
    """What XLA runs one after the other: how many of each kind, and each by its indent, kind and content."""

    file: str
    kinds: str
    lines: list[tuple[str, str, str]]


@dataclass(frozen=True)
class AllocationRow:
    """A buffer with its largest values, and how many more there are."""

    number: str
    bytes: str
    use: str
    said: str
    values: list[tuple[str, str, str, str, str]]
    more: int


def overview(module: object) -> ModuleRow:
    """One module in one line."""
    kernels = entries(module, "kernels")
    bits = max((numbers.finite(part(kernel, "optimized", "vector_bits")) or 0 for kernel in kernels), default=0)
    kind = "autocluster" if part(module, "cluster") is not None else text(module, "direction")
    return ModuleRow(
        number=text(module, "number"),
        function=text(module, "function"),
        framework=" ".join(filter(None, (text(module, "framework"), kind))),
        before=numbers.count(part(module, "stages", "before", "instructions")),
        after=numbers.count(part(module, "stages", "after", "instructions")),
        fusions=numbers.count(part(module, "stages", "after", "fusions")),
        kernels=numbers.count(_kernels(module)),
        vector=f"{bits:.0f} bits" if bits else numbers.MISSING,
        buffers=numbers.binary_bytes(part(module, "buffers", "total")),
        temp=numbers.binary_bytes(part(module, "buffers", "by_use", "temp")),
        problems=numbers.count(len(entries(module, "problems"))),
    )


def _kernels(module: object) -> float | None:
    """Those whose code was dumped; without any, what a GPU is handed."""
    count = len(entries(module, "kernels")) + sum(len(entries(file, "kernels")) for file in entries(module, "ptx"))
    launches = [part(thunks, "launched") for thunks in entries(module, "thunks")]
    return count or numbers.finite(next(iter(launches), 0))


def ends(module: object) -> list[tuple[str, list[str]]]:
    """What is counted, and the count before and after optimization."""
    stages = [part(module, "stages", stage) for stage in ("before", "after")]
    if not any(stages):
        return []
    names = ("instructions", "computations", "fusions")
    return [(name, [numbers.count(part(stage, name)) for stage in stages]) for name in names]


def opcodes(module: object) -> list[tuple[str, str, str, str]]:
    """Opcodes with both counts and the change, the most frequent in the end first; empty unless both are known."""
    before, after = (mapping(module, "stages", stage, "opcodes") for stage in ("before", "after"))
    if not before or not after:
        return []
    names = sorted({*before, *after}, key=lambda opcode: (-_number(after, opcode), -_number(before, opcode), opcode))
    counts = [(name, _number(before, name), _number(after, name)) for name in names]
    return [(name, f"{first:,}", f"{second:,}", _signed_text(second - first)) for name, first, second in counts]


def _number(counts: Mapping[str, Any], name: str) -> int:
    return int(numbers.finite(counts.get(name)) or 0)


def _signed_text(change: float) -> str:
    return f"{change:+,.0f}" if change else ""


def passes(module: object) -> list[PassRow]:
    """Every pass that was dumped, in order; bars are as long as the module is large."""
    rows = entries(module, "stages", "passes")
    counts = [numbers.finite(part(row, "instructions")) or 0 for row in rows]
    most = max(counts, default=0) or 1
    return [_pass(row, count / most) for row, count in zip(rows, counts, strict=True)]


def _pass(row: object, share: float) -> PassRow:
    after, change_text = text(row, "after"), text(row, "changed")
    opcodes = ", ".join(f"{_signed_text(numbers.finite(n) or 0)} {name}" for name, n in mapping(row, "opcodes").items())
    return PassRow(
        order=text(row, "order"),
        pipeline=text(row, "pipeline"),
        name={"": "(after the last dump)", "pipeline-start": "(pipeline starts)"}.get(after, after),
        instructions=numbers.count(part(row, "instructions")),
        bar=f"{100 * share:.1f}%",
        changes=change_text != "nothing",
        changed=opcodes or _CHANGES.get(change_text, "not known"),
    )


def step(row: object) -> StepRow:
    """One of the optimized module's instructions, in the order in which they run."""
    return StepRow(
        indent=f"{1.2 * (numbers.finite(part(row, 'depth')) or 0):.1f}rem",
        name=text(row, "name"),
        opcode=" ".join(filter(None, (text(row, "opcode"), text(row, "kind")))),
        shape=text(row, "shape"),
        within=_counts(mapping(row, "within")),
        op_name=text(row, "op_name"),
        source=text(row, "source"),
    )


def _counts(counts: Mapping[str, Any]) -> str:
    """Each name, as in "add, 2 multiply", with its count where there are several."""
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())


def kernel(row: object) -> CodeRow:
    """A kernel's code, before and after LLVM's optimizations."""
    codes = [part(row, end) for end in ("unoptimized", "optimized")]
    last = codes[1]
    return CodeRow(
        name=text(row, "name") or "(the whole module)",
        functions=[numbers.count(len(entries(code, "functions")) if code else None) for code in codes],
        instructions=[numbers.count(part(code, "instructions")) for code in codes],
        bytes=[numbers.binary_bytes(part(code, "bytes")) for code in codes],
        vector=text(last, "vector") or ("none" if last else numbers.MISSING),
        bits=numbers.count(part(last, "vector_bits")),
        vectors=numbers.count(part(last, "vector_instructions")),
        preferred=numbers.count(part(last, "preferred_bits")),
    )


def lowered(row: object) -> tuple[str, str, str, str, str]:
    """MLIR of a kernel: name, step, lines, bytes, and how often each operation occurs."""
    name, step = text(row, "kernel") or text(row, "file"), text(row, "step") or "as the frontend handed it over"
    lines, size = numbers.count(part(row, "lines")), numbers.binary_bytes(part(row, "bytes"))
    return name, step, lines, size, _counts(mapping(row, "operations"))


def ptx(file: object, kernel: object) -> tuple[str, str, str, str, str]:
    """A kernel for a GPU: name, target, parameters, registers, launch."""
    registers = ", ".join(f"{count} {kind}" for kind, count in mapping(kernel, "registers").items())
    launch = ", ".join(f"{name} {value}" for name, value in mapping(kernel, "launch").items())
    return text(kernel, "name"), text(file, "target"), numbers.count(part(kernel, "parameters")), registers, launch


def thunks(row: object) -> ThunksRow:
    """What XLA runs, one after the other, as one file says it."""
    return ThunksRow(
        file=text(row, "file"),
        kinds=_counts(mapping(row, "kinds")),
        lines=[
            (f"{1.2 * (numbers.finite(part(thunk, 'depth')) or 0):.1f}rem", text(thunk, "kind"), text(thunk, "what"))
            for thunk in entries(row, "thunks")
        ],
    )


def uses(buffers: object) -> list[tuple[str, str, str]]:
    """Bytes by use, each with its part of all as the width of a bar."""
    total = numbers.finite(part(buffers, "total")) or 0
    rows = [(name, numbers.finite(size) or 0) for name, size in mapping(buffers, "by_use").items()]
    return [(name, numbers.binary_bytes(size), f"{100 * size / total if total else 0:.1f}%") for name, size in rows]


def allocation(row: object) -> AllocationRow:
    """One buffer, with its largest values."""
    values = sorted(entries(row, "values"), key=lambda value: -(numbers.finite(part(value, "bytes")) or 0))
    use, description = text(row, "use"), text(row, "said")
    return AllocationRow(
        number=text(row, "number"),
        bytes=numbers.binary_bytes(part(row, "bytes")),
        # A variable that is updated in place: XLA returns the parameter's own bytes.
        use=f"{use}, also output" if use == "parameter" and "maybe-live-out" in description else use,
        said=description,
        values=[_value(value) for value in values[:LARGEST]],
        more=max(0, len(values) - LARGEST),
    )


def _value(row: object) -> tuple[str, str, str, str, str]:
    where = f"{text(row, 'instruction')} {text(row, 'index')}".strip()
    size = numbers.binary_bytes(part(row, "bytes"))
    return where, text(row, "opcode"), text(row, "shape"), size, text(row, "op_name")


def peak(rows: Sequence[object]) -> tuple[str, list[tuple[str, str]]]:
    """Bytes live at the peak, and the values that they belong to."""
    sizes = [numbers.finite(part(row, "bytes")) or 0 for row in rows]
    names = [(text(row, "instruction"), numbers.binary_bytes(size)) for row, size in zip(rows, sizes, strict=True)]
    return numbers.binary_bytes(sum(sizes)), names


def files(plain_files: Iterable[object]) -> list[tuple[str, str, str]]:
    """Path, size and kind of each file."""
    return [(text(file, "path"), numbers.binary_bytes(part(file, "bytes")), text(file, "kind")) for file in plain_files]
