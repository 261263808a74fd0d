"""What a notebook shows: a verdict, one table, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from compare.report import verdicts
from compare.report.page_html import TEMPLATES, templates
from compare.report.pages import Cell


@dataclass(frozen=True)
class Page:
    """A piece of HTML without scripts, for a page of somebody else.

    Attributes:
      name: of what was looked at.
      verdict: of a record; "" where there is none.
      titles: of the columns; none of a page without a table.
      rows: of texts, the first of each being its title.
      lines: further sentences.
    """

    name: str
    verdict: str
    titles: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    lines: Sequence[str]


def render(page: Page) -> str:
    """The page as HTML. Every string of it is escaped."""
    verdict = verdicts.cell(page.verdict) if page.verdict else Cell("")
    style = Markup((TEMPLATES / "check.css").read_text())
    return templates().get_template("table.html.j2").render(page=page, verdict=verdict, style=style)


class Display:
    """What a call gives back: a notebook shows it as HTML; as text it is what the command line prints."""

    _text: str
    _html: str

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html
