"""The page of a result in a notebook: a verdict, one table, and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from compare.report import verdicts
from compare.report.page_html import TEMPLATES, templates
from compare.report.pages import Cell, Table


def render(name: str, verdict: str, table: Table | None, lines: Sequence[str]) -> str:
    """A piece of HTML without scripts, for a page of somebody else. Every string of it is escaped.

    Args:
      verdict: of a record; "" where there is none.
      table: below them; None where there is none.
    """
    style = Markup((TEMPLATES / "check.css").read_text())
    cell = verdicts.cell(verdict) if verdict else Cell("")
    template = templates().get_template("table.html.j2")
    return template.render(name=name, verdict=cell, table=table, lines=lines, style=style)


class Display:
    """A result of a call. A notebook shows it as HTML; its text is the output of the command line."""

    _text: str
    _html: str

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html
