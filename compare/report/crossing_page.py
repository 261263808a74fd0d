"""The page of `jaxport crossing`: of every function two charts, what follows from them, and a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from compare.record.crossing_part import Crossings, SizeSeries
from compare.report import crossing_charts, crossing_rows
from compare.report.crossing_rows import RunRow
from compare.report.html import styles, templates
from compare.report.showable import printable
from compare.writing import write_atomically

FILE = "crossing.html"


@dataclass(frozen=True)
class _Part:
    name: str
    summary: str
    dimension: str
    sentences: list[str]
    rows: list[RunRow]
    times: Markup
    ratios: Markup

    @property
    def has_remarks(self) -> bool:
        return any(row.remark for row in self.rows)


def render(record: Crossings) -> str:
    """The page; every string of the record is escaped."""
    safe = printable(record)
    page = templates().get_template("crossing.html.j2")
    return page.render(
        style=styles("dump.css"),
        origin=crossing_rows.origin(safe.environment, safe.threads),
        modes=crossing_rows.MODES,
        ratios=crossing_rows.RATIOS,
        parts=[_part(series) for series in safe.series],
        notes=list(crossing_rows.notes(safe)),
    )


def write_page(record: Crossings, folder: Path) -> Path:
    """Write the page into the folder, making the folder where there is none; returns its path."""
    page = render(record)
    write_atomically(folder / FILE, page)
    return folder / FILE


def _part(series: SizeSeries) -> _Part:
    return _Part(
        name=series.name,
        summary=series.summary,
        dimension=series.dimension,
        sentences=crossing_rows.sentences(series),
        rows=crossing_rows.rows(series),
        times=Markup(crossing_charts.times(series)),
        ratios=Markup(crossing_charts.ratios(series)),
    )
