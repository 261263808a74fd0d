"""Ablations as one page: every workload's table, and behind each row the code of its kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.record.ablation_part import COMPARED, AblatedKernel, Ablation
from compare.report import ablation_rows, numbers
from compare.report.ablation_rows import Row
from compare.report.page_html import styles, templates
from compare.report.showable import printable

LONGEST = 60
"""Kernels of one table; the JSON beside the page has them all."""


@dataclass(frozen=True)
class Kernels:
    """The code of some kernels of one compilation, as cells.

    `title` says of which; `left_out` counts those beyond LONGEST.
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    left_out: int


@dataclass(frozen=True)
class Section:
    """One workload."""

    name: str
    headline: str
    sentences: tuple[str, ...]
    rows: tuple[Row, ...]
    others: tuple[tuple[str, str], ...]
    kernels: tuple[Kernels, ...]
    notes: tuple[str, ...]


def ablation_page(ablations: Mapping[str, Ablation]) -> str:
    """The page; every string is escaped.

    Args:
      ablations: by workload.
    """
    return (
        templates()
        .get_template("ablation.html.j2")
        .render(
            sections=[_section(name, printable(ablation)) for name, ablation in ablations.items()],
            titles=ablation_rows.TITLES,
            legend=ablation_rows.LEGEND,
            style=styles("dump.css"),
        )
    )


def _section(name: str, ablation: Ablation) -> Section:
    return Section(
        name=name,
        headline=ablation_rows.headline(name, ablation),
        sentences=tuple(ablation_rows.sentences(ablation)),
        rows=ablation_rows.rows(ablation),
        others=tuple(ablation_rows.others(ablation)),
        kernels=tuple(_kernels(ablation)),
        notes=tuple(_notes(ablation)),
    )


def _kernels(ablation: Ablation) -> list[Kernels]:
    full = ablation.full
    if full is None:
        return []
    tables = [_table("the full pipeline", full.codes)]
    for row in ablation.rows:
        if row.outcome == COMPARED and row.made is not None:
            other_kernels = ablation_rows.changed_kernels(row.made, full)
            tables.append(_table(f"without {row.name}, where it is other than that", other_kernels))
    return [table for table in tables if table.rows]


def _table(title: str, kernels: Sequence[AblatedKernel]) -> Kernels:
    cells = tuple((kernel.kernel, *ablation_rows.kernel_cells(kernel)) for kernel in kernels[:LONGEST])
    return Kernels(title, cells, max(0, len(kernels) - LONGEST))


def _notes(ablation: Ablation) -> list[str]:
    read = f"Machine code was read by {ablation.disassembler}."
    notes = [read if ablation.disassembler else "Fused multiply-adds are not counted: there is no objdump here."]
    if ablation.null is not None and not ablation.null.withheld:
        null = ablation.null
        notes.append(
            f"A second copy of the full pipeline's code took {numbers.ratio(null.ratio)} "
            f"{numbers.interval(null.ci95)} of the first's time, over {null.pairs} fresh processes."
        )
    return notes
