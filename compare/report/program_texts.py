"""The texts side by side: programs, stages and compiled modules, with the operations that differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from compare.record.alignment_part import Alignment
from compare.record.program_parts import Written
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.pages import Line, Pane
from compare.report.showable import present
from compare.report.tables import SIDES

PROGRAMS = "programs"
"""The folder beside a report that holds a page for each workload's two programs."""

MAX_LINES = 2000
MAX_COLUMNS = 500
"""A page that holds a large model's every line cannot be opened; the record holds them."""

_STABLEHLO = re.compile(r'"?\b(?:stablehlo|chlo|mhlo)\.([\w.]+)')
_HLO = re.compile(r"^\s*(?:ROOT )?%?[\w.\-]+ = .*?[\])}] ([a-z][\w\-]*)\(")


@dataclass(frozen=True)
class OpcodeRow:
    """How often an operation occurs in each side's program."""

    opcode: str
    tf: str
    jax: str
    difference: str
    """JAX minus TF; empty where equal."""


def opcodes(workload: Workload) -> tuple[OpcodeRow, ...]:
    """Every operation of either program, those that differ first; a lone program differs from nothing."""
    tf, jax = (_program(workload, side).opcodes for side in SIDES)
    if not tf or not jax:
        return tuple(OpcodeRow(op, _count_of(tf, op), _count_of(jax, op), "") for op in sorted({*tf, *jax}))
    rows = [_opcode(op, tf.get(op, 0), jax.get(op, 0)) for op in sorted({*tf, *jax})]
    return tuple(sorted(rows, key=lambda row: not row.difference))


def programs(workload: Workload) -> tuple[Pane, ...]:
    """The programs that the frontends passed to XLA: the panes of both sides, or of the only one."""
    differing = frozenset(row.opcode.rpartition(".")[2] for row in opcodes(workload) if row.difference)
    return tuple(
        _pane(SIDES[side], program.text, differing, _program_note(program))
        for side in SIDES
        if (program := present(workload.programs.get(side)))
    )


def stages(workload: Workload) -> tuple[tuple[str, tuple[Pane, ...]], ...]:
    """Every stage that a framework offers, by name; a stage that both offer comes once with both texts."""
    by_side = {side: workload.stages.get(side, {}) for side in SIDES}
    names = dict.fromkeys(name for texts in by_side.values() for name in texts)
    return tuple(
        (name, tuple(_pane(SIDES[side], texts[name]) for side, texts in by_side.items() if name in texts))
        for name in names
    )


def modules(workload: Workload) -> tuple[Pane, ...]:
    """The optimized module of every cell that has its text."""
    return tuple(_pane(name, cell.text) for name, cell in workload.compiled.items() if cell.text)


def alignment(workload: Workload) -> str:
    """How much of the programs is the same, in one sentence; empty where they were not aligned."""
    alignment_part = present(workload.alignment)
    if alignment_part is None:
        return ""
    match_count, tf, jax = map(numbers.count, (alignment_part.matched, alignment_part.tf_only, alignment_part.jax_only))
    counts = f"{match_count} operations matched, {tf} only in TF, {jax} only in JAX"
    if not alignment_part.levels:
        return counts
    equal = [name for name, level in alignment_part.levels.items() if level.equal]
    where = f"equal at {', '.join(equal)}" if equal else "equal at no level"
    return f"{counts} at level {alignment_part.level or ''}; the programs are {where}"


def page(workload: Workload, name: str) -> str:
    """Where the page of both programs stands, beside the report; empty where there is none."""
    return f"{PROGRAMS}/{file_stem(name)}.html" if (workload.alignment or Alignment()).levels else ""


def file_stem(name: str) -> str:
    """A name as a file may have it."""
    return re.sub(r"[^\w.-]+", "_", name).strip("_") or "programs"


def same_program(workload: Workload) -> bool:
    """Whether both frontends handed XLA the very same text."""
    tf, jax = (_program(workload, side).sha256 for side in SIDES)
    return bool(tf) and tf == jax


def _program(workload: Workload, side: str) -> Written:
    return workload.programs.get(side, Written())


def _opcode(op: str, tf: int, jax: int) -> OpcodeRow:
    return OpcodeRow(op, numbers.count(tf), numbers.count(jax), f"{jax - tf:+,d}" if tf != jax else "")


def _count_of(opcodes: Mapping[str, int], op: str) -> str:
    return numbers.count(opcodes.get(op))


def _program_note(program: Written) -> str:
    plural = "" if program.instructions == 1 else "s"
    digest = program.sha256[:12] or numbers.MISSING
    return f"{numbers.count(program.instructions)} instruction{plural}, sha256 {digest}"


def _pane(title: str, source: str, differing: frozenset[str] = frozenset(), note: str = "") -> Pane:
    lines = source.splitlines()
    lines_shown = tuple(Line(cut(line), _operation(line) in differing) for line in lines[:MAX_LINES])
    return Pane(title, lines_shown, len(lines) - len(lines_shown), note)


def cut(line: str) -> str:
    """The line as far as a page can hold it."""
    more = len(line) - MAX_COLUMNS
    return f"{line[:MAX_COLUMNS]} … ({more} more characters)" if more > 0 else line


def _operation(line: str) -> str:
    operation = _STABLEHLO.search(line[:MAX_COLUMNS]) or _HLO.search(line[:MAX_COLUMNS])
    return operation.group(1) if operation else ""
