"""What is shown, as data: sections of sentences, tables and charts. Consoles, HTML and Markdown have a writer each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar, Literal

Tone = Literal["", "strong", "pass", "fail", "warning", "note"]
"""How a text is coloured, by what it says."""


Room = Literal["", "wide", "page"]
"""Where there is room for a column: everywhere, not on a terminal of 80 columns, or on a page alone."""


@dataclass(frozen=True)
class SourceLine:
    """A line of a program as FILE:LINE, its text, and how often it is meant."""

    source: str
    line: str = ""
    count: int = 1

    @property
    def place(self) -> str:
        """FILE:LINE without the folders."""
        return PurePath(self.source).name


@dataclass(frozen=True)
class Cell:
    """A text in a table.

    Attributes:
      text: everywhere; in place of it, a page lists `sources`.
      tone: its colour.
      note: beside it where there is room, on a page.
      link: the page of it.
      bar: the width of a bar beside it, as CSS has it: "12.5%".
      sources: lines that it stands for.
      names: what it counts.
      chips: short texts in it, each with its tone.
    """

    text: str
    tone: Tone = ""
    note: str = ""
    link: str = ""
    bar: str = ""
    sources: Sequence[SourceLine] = ()
    names: Sequence[str] = ()
    chips: Sequence[Cell] = ()

    @property
    def whole(self) -> str:
        """Its text with its note."""
        return "  ".join(filter(None, (self.text, self.note)))

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing; that something is not known says something."""
        return not (self.text or self.note or self.bar or self.sources or self.names or self.chips)


@dataclass(frozen=True)
class Column:
    """A column by its title, what it holds as classes of the style sheet ("number", "code", "wrap"), and its room."""

    title: str
    kind: str = ""
    room: Room = ""

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
      title: above it.
      most: rows on a page, where a file has all: the page says where the others are.
      most_on_console: the same of a console.
      whole_in: the file that has all rows.
      is_nested: whether a console shows a row over several lines, its sources below its texts.
    """

    kind: ClassVar = "table"
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str]]
    label: str = ""
    title: str = ""
    most: int = 500
    most_on_console: int = 500
    whole_in: str = ""
    is_nested: bool = False

    def compact(self, most: int | None = None) -> tuple[list[Column], list[list[Cell]]]:
        """Its columns and first rows, without columns that are empty in every row."""
        rows = [[text if isinstance(text, Cell) else Cell(text) for text in row] for row in self.rows[:most]]
        selection = [
            place for place in range(len(self.columns)) if not place or not all(row[place].is_empty for row in rows)
        ]
        return [self.columns[place] for place in selection], [[row[place] for place in selection] for row in rows]

    @property
    def most_on_page(self) -> int | None:
        """Rows on a page; None is all, where no file has those that a page leaves out."""
        return self.most if self.whole_in else None

    @property
    def left_out(self) -> str:
        """How many rows a page leaves out, and where they are; empty where it has all."""
        more = len(self.rows) - self.most if self.whole_in else 0
        return f"{more} more: {self.whole_in} has them all." if more > 0 else ""


@dataclass(frozen=True)
class Facts:
    """Titles, each with a text beside it."""

    kind: ClassVar = "facts"
    pairs: Sequence[tuple[str, Cell | str]]
    title: str = ""


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
class Picture:
    """A graph as Graphviz drew it.

    Attributes:
      caption: what it is.
      file: that has it, beside the page.
      url: that holds it; empty where it was not drawn.
      hint: why not.
    """

    caption: str
    file: str
    url: str
    hint: str


@dataclass(frozen=True)
class Pictures:
    """Pictures, beside one another where they are small enough to be read so."""

    kind: ClassVar = "pictures"
    pictures: Sequence[Picture]
    is_beside: bool = False


@dataclass(frozen=True)
class Folded:
    """What a page has behind a click, and what nothing else shows."""

    kind: ClassVar = "folded"
    title: str
    blocks: Sequence[Block]


Block = Table | Facts | Lines | Charts | Pictures | Folded


@dataclass(frozen=True)
class Section:
    """One subject.

    Attributes:
      name: of the subject.
      summary: what it is.
      conclusions: what follows: first on a page, and last on a console.
      blocks: what it follows from.
      is_on_page_alone: whether a console leaves it out.
    """

    name: str
    summary: str = ""
    conclusions: Sequence[str] = ()
    blocks: Sequence[Block] = ()
    is_on_page_alone: bool = False


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
      links: titles and addresses of pages beside it.
    """

    command: str
    title: str
    summary: str = ""
    origin: Sequence[str] = ()
    sections: Sequence[Section] = ()
    notes: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()


def list_lines(places: Mapping[tuple[str, str], int]) -> tuple[SourceLine, ...]:
    """Lines of source by FILE:LINE and text, each with its count."""
    return tuple(SourceLine(source, line, count) for (source, line), count in places.items())


def columns(*titles: str, kind: str = "") -> tuple[Column, ...]:
    """Columns of one kind."""
    return tuple(Column(title, kind) for title in titles)
