"""The texts side by side: programs, stages and compiled modules, with the operations that differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from compare.report import numbers
from compare.report.showable import entries, mapping, part, text
from compare.report.tables import SIDES

PROGRAMS = "programs"
"""The folder beside a report that holds a page for each workload's two programs."""

MAX_LINES = 2000
MAX_COLUMNS = 500
"""A page that holds a large model's every line cannot be opened; the record holds them."""

_STABLEHLO = re.compile(r'"?\b(?:stablehlo|chlo|mhlo)\.([\w.]+)')
_HLO = re.compile(r"^\s*(?:ROOT )?%?[\w.\-]+ = .*?[\])}] ([a-z][\w\-]*)\(")


@dataclass(frozen=True)
class Line:
    """One line of a text; `marked` where its operation occurs more or less often on the other side."""

    text: str
    marked: bool


@dataclass(frozen=True)
class Pane:
    """A text with its line numbers, cut to what a page can hold."""

    title: str
    lines: tuple[Line, ...]
    omitted: int
    note: str = ""

    @property
    def numbering(self) -> str:
        """The gutter."""
        return "\n".join(str(number) for number in range(1, len(self.lines) + 1))


@dataclass(frozen=True)
class OpcodeRow:
    """How often an operation occurs in each side's program."""

    opcode: str
    tf: str
    jax: str
    difference: str
    """JAX minus TF; empty where equal."""


@dataclass(frozen=True)
class FrontierRow:
    """A place where the aligned programs part."""

    side: str
    op: str
    name: str
    source: str
    reason: str


def opcodes(workload: object) -> tuple[OpcodeRow, ...]:
    """Every operation of either program, those that differ first; a lone program differs from nothing."""
    tf, jax = (mapping(workload, "programs", side, "opcodes") for side in SIDES)
    if not tf or not jax:
        return tuple(OpcodeRow(op, _count_of(tf, op), _count_of(jax, op), "") for op in sorted({*tf, *jax}))
    rows = [_opcode(op, tf.get(op) or 0, jax.get(op) or 0) for op in sorted({*tf, *jax})]
    return tuple(sorted(rows, key=lambda row: not row.difference))


def programs(workload: object) -> tuple[Pane, ...]:
    """What each frontend handed to XLA; the panes of both sides, or of the one that there is."""
    differing = _differing(workload)
    return tuple(
        _pane(SIDES[side], text(found, "text"), differing, _program_note(found))
        for side in SIDES
        if (found := mapping(workload, "programs", side))
    )


def stages(workload: object) -> tuple[tuple[str, tuple[Pane, ...]], ...]:
    """Every stage that a framework offers, by name; a stage that both offer comes once with both texts."""
    found = {side: mapping(workload, "stages", side) for side in SIDES}
    names = dict.fromkeys(name for texts in found.values() for name in texts)
    return tuple(
        (name, tuple(_pane(SIDES[side], str(texts[name])) for side, texts in found.items() if name in texts))
        for name in names
    )


def modules(workload: object) -> tuple[Pane, ...]:
    """The optimized module of every cell that has its text."""
    compiled = mapping(workload, "compiled")
    return tuple(_pane(name, text(cell, "text")) for name, cell in compiled.items() if text(cell, "text"))


def frontier(workload: object) -> tuple[FrontierRow, ...]:
    """Where the aligned programs part, in the record's order."""
    return tuple(
        FrontierRow(*(text(entry, key) for key in ("side", "op", "name", "source", "reason")))
        for entry in entries(workload, "alignment", "frontier")
    )


def alignment(workload: object) -> str:
    """How much of the programs is the same, in one sentence; empty where they were not aligned."""
    found = mapping(workload, "alignment")
    if not found:
        return ""
    matched, tf, jax = (numbers.count(part(found, key)) for key in ("matched", "tf_only", "jax_only"))
    counts = f"{matched} operations matched, {tf} only in TF, {jax} only in JAX"
    levels = mapping(found, "levels")
    if not levels:
        return counts
    equal = [level for level, each in levels.items() if part(each, "equal")]
    where = f"equal at {', '.join(equal)}" if equal else "equal at no level"
    return f"{counts} at level {text(found, 'level')}; the programs are {where}"


def page(workload: object, name: str) -> str:
    """Where the page of both programs stands, beside the report; empty where there is none."""
    return f"{PROGRAMS}/{file_stem(name)}.html" if mapping(workload, "alignment", "levels") else ""


def file_stem(name: str) -> str:
    """A name as a file may have it."""
    return re.sub(r"[^\w.-]+", "_", name).strip("_") or "programs"


def same_program(workload: object) -> bool:
    """Whether both frontends handed XLA the very same text."""
    tf, jax = (text(workload, "programs", side, "sha256") for side in SIDES)
    return bool(tf) and tf == jax


def _opcode(op: str, tf: int, jax: int) -> OpcodeRow:
    return OpcodeRow(op, numbers.count(tf), numbers.count(jax), f"{jax - tf:+,d}" if tf != jax else "")


def _count_of(opcodes: Mapping[str, int], op: str) -> str:
    return numbers.count(opcodes.get(op))


def _differing(workload: object) -> frozenset[str]:
    return frozenset(row.opcode.rpartition(".")[2] for row in opcodes(workload) if row.difference)


def _program_note(program: Mapping[str, object]) -> str:
    instructions = part(program, "instructions")
    plural = "" if instructions == 1 else "s"
    return (
        f"{numbers.count(instructions)} instruction{plural}, sha256 {text(program, 'sha256')[:12] or numbers.MISSING}"
    )


def _pane(title: str, source: str, differing: frozenset[str] = frozenset(), note: str = "") -> Pane:
    lines = source.splitlines()
    shown = tuple(Line(_cut(line), _operation(line) in differing) for line in lines[:MAX_LINES])
    return Pane(title, shown, len(lines) - len(shown), note)


def _cut(line: str) -> str:
    more = len(line) - MAX_COLUMNS
    return f"{line[:MAX_COLUMNS]} … ({more} more characters)" if more > 0 else line


def _operation(line: str) -> str:
    found = _STABLEHLO.search(line[:MAX_COLUMNS]) or _HLO.search(line[:MAX_COLUMNS])
    return found.group(1) if found else ""
