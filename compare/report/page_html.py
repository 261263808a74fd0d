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
    return fill("page.html.j2", page, (TEMPLATES / "page.js").read_text() if page.is_filtered else "")


def fill(template: str, page: Page, script: str, *styles: str, **more: object) -> str:
    """A template as HTML.

    Args:
      script: of the page; its content security policy allows no other, such as one in a record.
      styles: files that say how the template's own parts look, after what every page looks like.
    """
    files = ("report.css", "dump.css", "page.css", *styles)
    return (
        templates()
        .get_template(template)
        .render(
            page=printable(page),
            style=Markup("\n".join((TEMPLATES / name).read_text() for name in files)),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            **more,
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
