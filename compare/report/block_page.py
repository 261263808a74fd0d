"""The page of `jaxport crossing blocks`: of every chain two charts, what follows from them, and a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from compare.record.block_part import BlockSeries, ChainsInBlocks
from compare.report import block_charts, block_rows, crossing_rows
from compare.report.block_rows import BlockRow
from compare.report.html import styles, templates
from compare.report.showable import printable
from compare.writing import write_atomically

FILE = "blocks.html"


@dataclass(frozen=True)
class _Part:
    name: str
    summary: str
    sentences: list[str]
    modes: list[tuple[str, list[BlockRow]]]
    times: Markup
    ratios: Markup

    @property
    def has_remarks(self) -> bool:
        return any(row.remark for _, rows in self.modes for row in rows)


def render(record: ChainsInBlocks) -> str:
    """The page; every string of the record is escaped."""
    safe = printable(record)
    page = templates().get_template("blocks.html.j2")
    return page.render(
        style=styles("dump.css"),
        origin=crossing_rows.origin(safe.environment, safe.threads),
        how=block_rows.HOW,
        parts=[_part(series) for series in safe.series],
        notes=list(block_rows.notes(safe)),
    )


def write_page(record: ChainsInBlocks, folder: Path) -> Path:
    """Write the page into the folder, making the folder where there is none; returns its path."""
    page = render(record)
    write_atomically(folder / FILE, page)
    return folder / FILE


def _part(series: BlockSeries) -> _Part:
    return _Part(
        name=series.name,
        summary=series.summary,
        sentences=block_rows.sentences(series),
        modes=block_rows.modes(series),
        times=Markup(block_charts.times(series)),
        ratios=Markup(block_charts.ratios(series)),
    )
