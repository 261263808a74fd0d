"""Pages as HTML: self-contained, no network, and nothing on them needs a script to be seen."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from compare.report.pages import Page
from compare.report.showable import printable
from compare.writing import write_atomically

TEMPLATES = Path(__file__).parent / "templates"


def render(page: Page) -> str:
    """The page. Every string of it is escaped, and but for charts none is markup."""
    script = (TEMPLATES / "page.js").read_text() if page.is_filtered else ""
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            page=printable(page),
            style=styles("dump.css", "page.css"),
            script=Markup(script),
            script_hash=script_hash(script),
        )
    )


def write_page(page: Page, path: Path) -> Path:
    """Write the page, making its folder where there is none; returns its path."""
    write_atomically(path, render(page))
    return path


@functools.cache
def templates() -> Environment:
    """The templates: strings are escaped, and an unknown name is an error."""
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
