"""Pages as data: sections of sentences, tables and charts. Console, HTML and Markdown have a writer each."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import PurePath
from typing import ClassVar, Literal

Tone = Literal["", "strong", "pass", "fail", "warning", "note", "differs"]
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
      lines: texts below it, each with its tone.
      status: a verdict, of which a page shows the glyph before the text.
      hint: what the text means.
      anchor: of its row, the identifier that links of a page lead to.
    """

    text: str
    tone: Tone = ""
    note: str = ""
    link: str = ""
    bar: str = ""
    sources: Sequence[SourceLine] = ()
    names: Sequence[str] = ()
    chips: Sequence[Cell] = ()
    lines: Sequence[Cell] = ()
    status: str = ""
    hint: str = ""
    anchor: str = ""

    @property
    def whole(self) -> str:
        """Its text with its note."""
        return "  ".join(filter(None, (self.text, self.note)))

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing; that something is not known says something."""
        contents = (self.text, self.note, self.bar, self.sources, self.names, self.chips, self.lines)
        return not any(contents)


@dataclass(frozen=True)
class Column:
    """A column by its title.

    Attributes:
      title: above it.
      kind: what it holds, as classes of the style sheet: "number", "code", "wrap".
      room: where it is shown.
      group: a title above those of neighbouring columns.
    """

    title: str
    kind: str = ""
    room: Room = ""
    group: str = ""

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
      hints: what titles of columns and groups mean.
      below: by row, what a page has below it; empty where no row has anything.
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
    hints: Mapping[str, str] = field(default_factory=dict)
    below: Sequence[Sequence[Block]] = ()

    def compact(self, most: int | None = None) -> tuple[list[Column], list[list[Cell]]]:
        """Its columns and first rows, without columns that are empty in every row."""
        rows = [[text if isinstance(text, Cell) else Cell(text) for text in row] for row in self.rows[:most]]
        selection = [
            place for place in range(len(self.columns)) if not place or not all(row[place].is_empty for row in rows)
        ]
        return [self.columns[place] for place in selection], [[row[place] for place in selection] for row in rows]

    @staticmethod
    def group(columns: Sequence[Column]) -> list[tuple[str, list[Column]]]:
        """Neighbouring columns by their group."""
        return [(name, list(members)) for name, members in itertools.groupby(columns, attrgetter("group"))]

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
class Link:
    """A page or a place of a page; `is_current` where it is this page."""

    title: str
    address: str
    is_current: bool = False


@dataclass(frozen=True)
class Links:
    """Links of a page, one below the other."""

    kind: ClassVar = "links"
    links: Sequence[Link]


@dataclass(frozen=True)
class Item:
    """One difference, what kind it is of, and the lines that it comes from."""

    kind: str
    text: str
    sources: Sequence[str] = ()


@dataclass(frozen=True)
class Items:
    """A list of which a page shows the first; `none` says what an empty one means."""

    kind: ClassVar = "items"
    title: str
    note: str
    items: Sequence[Item]
    none: str = ""


@dataclass(frozen=True)
class Line:
    """One line of a text; `marked` where its operation occurs more or less often on the other side."""

    text: str
    marked: bool = False


@dataclass(frozen=True)
class Pane:
    """A text with its line numbers, cut to what a page can hold."""

    title: str
    lines: Sequence[Line]
    omitted: int = 0
    note: Cell | str = ""

    @property
    def numbering(self) -> str:
        """The gutter."""
        return "\n".join(str(number) for number in range(1, len(self.lines) + 1))


@dataclass(frozen=True)
class Panes:
    """Texts beside one another, which scroll together."""

    kind: ClassVar = "panes"
    panes: Sequence[Pane]


@dataclass(frozen=True)
class Beside:
    """Blocks beside one another, as far as a page is wide enough."""

    kind: ClassVar = "beside"
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Folded:
    """Blocks that a page hides behind a click, unless `is_open`."""

    kind: ClassVar = "folded"
    title: str | Cell
    blocks: Sequence[Block]
    is_open: bool = False


@dataclass(frozen=True)
class Part:
    """A part of a section, under a title of its own, with a verdict and a note beside it."""

    kind: ClassVar = "part"
    title: str
    blocks: Sequence[Block]
    tone: Tone = ""
    verdict: Cell = Cell("")
    note: str = ""


Block = Table | Facts | Lines | Links | Charts | Pictures | Items | Panes | Beside | Folded | Part


@dataclass(frozen=True)
class Section:
    """One subject.

    Attributes:
      name: of the subject.
      summary: what it is.
      conclusions: what follows: first on a page, and last on a console.
      blocks: what it follows from.
      is_on_page_alone: whether a console leaves it out.
      verdict: beside the name.
      anchor: the identifier that links lead to; empty where its number is that.
    """

    name: str
    summary: str = ""
    conclusions: Sequence[str] = ()
    blocks: Sequence[Block] = ()
    is_on_page_alone: bool = False
    verdict: Cell = Cell("")
    anchor: str = ""


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
      links: pages beside it.
      verdict: beside the title.
      remarks: what qualifies the title.
      overview: what a page has above its sections.
      tab: its name in a browser; empty where the title is that.
      is_filtered: whether a page has a field that selects sections by name and verdict.
    """

    command: str
    title: str
    summary: str = ""
    origin: Sequence[str] = ()
    sections: Sequence[Section] = ()
    notes: Sequence[str] = ()
    links: Sequence[Link] = ()
    verdict: Cell = Cell("")
    remarks: Sequence[str] = ()
    overview: Sequence[Block] = ()
    tab: str = ""
    is_filtered: bool = False


def list_lines(places: Mapping[tuple[str, str], int]) -> tuple[SourceLine, ...]:
    """Lines of source by FILE:LINE and text, each with its count."""
    return tuple(SourceLine(source, line, count) for (source, line), count in places.items())


def columns(*titles: str, kind: str = "") -> tuple[Column, ...]:
    """Columns of one kind."""
    return tuple(Column(title, kind) for title in titles)
