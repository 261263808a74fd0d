"""One self-contained page: no network, and nothing on it needs a script to be seen."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from compare.record.envelope import Record
from compare.report import costs, node_rows, overviews, rooflines, sections, tables, verdicts
from compare.report.showable import printable
from compare.writing import write_atomically

TEMPLATES = Path(__file__).parent / "templates"


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
            environment=tables.environment(safe),
            nodes=node_rows.rows(safe),
            unlike=node_rows.UNLIKE if node_rows.unlike(safe) else "",
            machine=rooflines.machine(safe),
            dispatch=costs.dispatch(safe),
            overview=overview,
            columns=overviews.find_columns(overview),
            sections=[sections.section(row, safe.workloads[row.name]) for row in overview],
            style=styles("target.css"),
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


@functools.cache
def templates() -> Environment:
    """The templates: strings are escaped, and a name that nobody gave is an error."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def styles(*names: str) -> Markup:
    """What every page looks like, and after it what these files say of its own parts."""
    return Markup("\n".join((TEMPLATES / name).read_text() for name in ("report.css", *names)))


def script_hash(script: str) -> str:
    """What the page's content security policy lets run: this script, and none that a record might carry."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
