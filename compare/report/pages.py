"""What is shown, as data: sections of sentences, tables and charts. Consoles, HTML and Markdown have a writer each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

Tone = Literal["", "strong", "pass", "fail", "warning", "note"]
"""How a text is coloured, by what it says."""


@dataclass(frozen=True)
class Cell:
    """A text in a table; `note` stands beside it where there is room, on a page."""

    text: str
    tone: Tone = ""
    note: str = ""


@dataclass(frozen=True)
class Column:
    """A column by its title and what it holds.

    Attributes:
      title: above it.
      kind: as classes of the style sheet: "number", "code", "wrap".
      is_wide: whether a terminal of 80 columns has no room for it.
    """

    title: str
    kind: str = ""
    is_wide: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers, which stand on the right."""
        return "number" in self.kind


@dataclass(frozen=True)
class Table:
    """Rows of texts, the first of each being its title.

    Attributes:
      columns: as many as each row has texts.
      rows: from the top down.
      label: what it is of, for those who do not see it.
      left_out: how many rows there are beside these, and where: "12 more: dump.json has them all".
    """

    kind: ClassVar = "table"
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str]]
    label: str = ""
    left_out: str = ""

    def compact(self) -> tuple[list[Column], list[list[Cell]]]:
        """Its columns and rows, without columns that are empty in every row."""
        rows = [[text if isinstance(text, Cell) else Cell(text) for text in row] for row in self.rows]
        selection = [place for place in range(len(self.columns)) if not place or any(row[place].text for row in rows)]
        return [self.columns[place] for place in selection], [[row[place] for place in selection] for row in rows]


@dataclass(frozen=True)
class Lines:
    """Sentences, one below the other, and what they are."""

    kind: ClassVar = "lines"
    lines: Sequence[str]
    tone: Tone = ""
    title: str = ""


@dataclass(frozen=True)
class Charts:
    """Captions with charts beside one another, as SVG that Vega made and escaped; an empty one is not shown."""

    kind: ClassVar = "charts"
    charts: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Folded:
    """What a page has behind a click, and what nothing else shows."""

    kind: ClassVar = "folded"
    title: str
    blocks: Sequence[Block]


Block = Table | Lines | Charts | Folded


@dataclass(frozen=True)
class Section:
    """One subject.

    Attributes:
      name: of the subject.
      summary: what it is.
      conclusions: what follows: first on a page, and last on a console.
      blocks: what it follows from.
    """

    name: str
    summary: str = ""
    conclusions: Sequence[str] = ()
    blocks: Sequence[Block] = ()


@dataclass(frozen=True)
class Page:
    """All that is shown of a record.

    Attributes:
      command: that shows it.
      title: of the page.
      summary: what it is of.
      origin: on what a page says that it was measured.
      sections: from the top down.
      notes: how it is to be read.
    """

    command: str
    title: str
    summary: str = ""
    origin: Sequence[str] = ()
    sections: Sequence[Section] = ()
    notes: Sequence[str] = ()


def columns(*titles: str, kind: str = "") -> tuple[Column, ...]:
    """Columns of one kind."""
    return tuple(Column(title, kind) for title in titles)
