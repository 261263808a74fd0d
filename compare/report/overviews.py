"""Every workload of a run in one line, shared by the page and the console. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.record.envelope import Record
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.attributions import factors
from compare.report.pages import Cell, Column, Table
from compare.report.tables import RatioRow, against_best, of_programs, other_pass
from compare.report.verdicts import WORDS, cell, gate_verdicts, outcome
from workloads.core.modes import JAX, JAX_JIT, JAX_TUNED, TF, TF_EAGER, TF_JIT, Mode

_COLUMNS = (
    *(Column("workload", "wrap"), Column("size", "wrap"), Column("parity", "wrap")),
    *(Column(title, "number", group="instructions") for title in ("TF", "JAX")),
    *(Column(title, "number", group="kernels") for title in ("tf/eager", "→ tf/jit", "→ jax/jit")),
    Column("time of jax/jit vs fastest TF mode"),
    *(Column(title, "number", group="jax/jit vs tf/jit is due to") for title in ("frontend", "compiler", "runtime")),
)


@dataclass(frozen=True)
class OverviewRow:
    """One workload in one line."""

    name: str
    anchor: str
    size: str
    dtype: str
    verdict: str
    """The verdict on parity, or that a result is missing: see `verdicts.outcome`."""
    gates: Mapping[str, str]
    instructions: tuple[str, str]
    kernels: tuple[str, str, str]
    """tf/eager, tf/jit, jax/jit."""
    ratio: RatioRow | None
    attribution: tuple[tuple[str, str], ...]
    tuned: RatioRow | None = None
    """The ratio of jax/tuned, if the port declares compiler options; an addition, never a replacement."""
    programs: RatioRow | None = None
    """The ratio of the two programs under one compiler, where TensorFlow was not timed."""


@dataclass(frozen=True)
class ColumnGroups:
    """The columns of an overview that have a value in any row: `--parity-only` fills none of these."""

    instructions: bool
    kernels: bool
    times: bool
    attribution: bool


def find_columns(rows: Sequence[OverviewRow]) -> ColumnGroups:
    """The columns that are worth showing."""
    return ColumnGroups(
        instructions=any(number != numbers.MISSING for row in rows for number in row.instructions),
        kernels=any(number != numbers.MISSING for row in rows for number in row.kernels),
        times=any(row.ratio or row.tuned or row.programs for row in rows),
        attribution=any(row.attribution for row in rows),
    )


def table(rows: Sequence[OverviewRow]) -> Table:
    """The overview of a page."""
    groups = find_columns(rows)
    return Table(_COLUMNS, [_cells(row, groups) for row in rows], "overview", most=len(rows))


def _cells(row: OverviewRow, groups: ColumnGroups) -> tuple[Cell | str, ...]:
    gates = [Cell(name, note=WORDS.get(verdict, verdict), status=verdict) for name, verdict in row.gates.items()]
    ratios = [*_ratio(row.programs or row.ratio)]
    ratios += [Cell("with compiler options:", "note"), *_ratio(row.tuned)] if row.tuned else []
    factors = [factor for _, factor in row.attribution] or [numbers.MISSING] * 3
    return (
        Cell(row.name, link=f"#{row.anchor}"),
        Cell(row.size or numbers.MISSING, note=row.dtype),
        replace(cell(row.verdict), chips=gates),
        *(row.instructions if groups.instructions else ("", "")),
        *(row.kernels if groups.kernels else ("", "", "")),
        Cell("", lines=ratios if groups.times else ()),
        *(factors if groups.attribution else ("", "", "")),
    )


def _ratio(row: RatioRow | None) -> Sequence[Cell]:
    if row is None:
        return (Cell("not timed", "note"),)
    other = f"vs {row.pair.right}" if row.pair else row.name
    word = replace(cell(row.verdict, row.withheld), note=other)
    return (word,) if row.withheld else (Cell(row.ratio, "strong", row.interval), word)


def overview(record: Record) -> tuple[OverviewRow, ...]:
    """Every workload, in the record's order."""
    workloads = record.workloads
    return tuple(_overview(name, anchor, workloads[name]) for name, anchor in anchors(workloads).items())


def anchors(names: Iterable[str]) -> dict[str, str]:
    """An identifier for each name: stable, unique, and harmless in an attribute or a URL."""
    counts: Counter[str] = Counter()
    by_name: dict[str, str] = {}
    for name in names:
        plain = "workload-" + (re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "unnamed")
        counts[plain] += 1
        by_name[name] = plain if counts[plain] == 1 else f"{plain}~{counts[plain]}"
    return by_name


def _overview(name: str, anchor: str, workload: Workload) -> OverviewRow:
    return OverviewRow(
        name=name,
        anchor=anchor,
        size=_size(workload),
        dtype=workload.dtype,
        verdict=outcome(workload),
        gates=gate_verdicts(workload),
        instructions=(_program(workload, TF), _program(workload, JAX)),
        kernels=(_count_text(workload, TF_EAGER), _count_text(workload, TF_JIT), _count_text(workload, JAX_JIT)),
        ratio=against_best(workload),
        attribution=tuple((factor.name, numbers.ratio(factor.value)) for factor in factors(workload)),
        tuned=against_best(workload, JAX_TUNED),
        programs=of_programs(workload),
    )


def _size(workload: Workload) -> str:
    size, parity_size = workload.size, workload.parity_size
    parity = f"parity at {parity_size}" if parity_size and parity_size != size else ""
    return ", ".join(filter(None, (size, parity, other_pass(workload))))


def _program(workload: Workload, side: str) -> str:
    program = workload.programs.get(side)
    return numbers.count(program.instructions if program else None)


def _count_text(workload: Workload, mode: Mode) -> str:
    profile = workload.profile.get(str(mode))
    return numbers.count(profile.kernels if profile else None)
