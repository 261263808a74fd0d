"""The report of a run: one page, from the record alone."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from compare.record.envelope import Record
from compare.report import costs, node_rows, overviews, rooflines, sections, tables, verdicts
from compare.report.next_steps import next_steps
from compare.report.page_html import TEMPLATES, script_hash, styles, templates
from compare.report.showable import printable
from compare.writing import write_atomically


def render(record: Record) -> str:
    """The page for a record. Every string of the record is escaped."""
    safe = printable(record)
    script = (TEMPLATES / "report.js").read_text()
    overview = overviews.overview(safe)
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            headline=verdicts.headline(safe),
            words=verdicts.WORDS,
            created=safe.created,
            command=" ".join(safe.command),
            size=safe.size,
            omissions=safe.omissions,
            environment=tables.environment(safe),
            nodes=node_rows.rows(safe),
            unlike=node_rows.UNLIKE if node_rows.unlike(safe) else "",
            machine=rooflines.machine(safe),
            dispatch=costs.dispatch(safe),
            overview=overview,
            next_steps=next_steps(safe, overview),
            columns=overviews.find_columns(overview),
            sections=[sections.section(row, safe.workloads[row.name]) for row in overview],
            style=styles("dump.css", "page.css", "target.css"),
            script=Markup(script),
            script_hash=script_hash(script),
        )
    )


def write_report(record: Record, folder: Path) -> Path:
    """Write report.html into the folder, making the folder where there is none; returns its path."""
    page = render(record)
    path = folder / "report.html"
    write_atomically(path, page)
    return path
