"""Pages on a console: tables and sentences, without charts and what a page shows after a click."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from compare.report.numbers import count_of, list_first
from compare.report.pages import Cell, Facts, Lines, Page, Section, Table
from compare.report.showable import one_line
from compare.report.terminal import print_table

_STYLES = {"strong": "bold", "pass": "green", "fail": "red", "warning": "yellow", "note": "dim"}
_INDENT = "  "


_MOST_SOURCES = 3
_MOST_NAMES = 2
"""Names that are listed where lines of source are known too."""


def print_page(page: Page, console: Console) -> None:
    """Print the summary of the page, every section, and the notes."""
    if page.summary:
        print_lines([page.summary, ""], console, "strong")
    for section in page.sections:
        if not section.is_on_page_alone:
            print_section(section, console)
            console.print()
    print_lines(page.notes, console, "note")


def print_section(section: Section, console: Console) -> None:
    """Print a section: its tables, then its conclusions."""
    print_lines([": ".join(filter(None, (section.name, section.summary)))], console, "strong")
    blocks = [block for block in section.blocks if isinstance(block, Table | Facts | Lines)]
    for place, block in enumerate(blocks):
        if isinstance(block, Lines):
            _print_sentences(block, console)
        elif isinstance(block, Facts):
            print_facts(block, console, _INDENT)
        elif block.is_nested:
            _print_nested(block, console)
        elif block.rows:
            print_lines([""] if place else [], console)
            print_rows(block, console, _INDENT)
    print_lines(section.conclusions, console)


def _print_sentences(block: Lines, console: Console) -> None:
    if block.title and block.lines:
        print_lines([f"{block.title}:"], console)
    print_lines([f"{_INDENT if block.title else ''}{line}" for line in block.lines], console, block.tone)


def print_lines(lines: Sequence[str], console: Console, tone: str = "") -> None:
    """Print sentences, one a line."""
    for line in lines:
        console.print(Text(line, style=_STYLES.get(tone, "")), soft_wrap=True)


def print_facts(facts: Facts, console: Console, indent: str = "") -> None:
    """Print titles with a text beside each."""
    print_lines([indent + facts.title] if facts.title and facts.pairs else [], console, "strong")
    grid = Grid(box=None, pad_edge=False, show_header=False)
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for title, value in facts.pairs:
        cell = value if isinstance(value, Cell) else Cell(value)
        note = Text(one_line(f"  {cell.note}" if cell.note else ""), style=_STYLES["note"])
        grid.add_row(Text(one_line(indent + title)), _text(cell, "").append_text(note))
    print_table(console, grid)


def print_rows(table: Table, console: Console, indent: str = "") -> None:
    """Print a table, without its wide columns where a terminal has no room for them.

    Args:
      indent: before each line of a table that stands in a section; one that stands alone has rules on a terminal.
    """
    has_rules = console.is_terminal and not indent
    print_lines([indent + table.title] if table.title else [], console, "strong")
    print_table(
        console,
        _grid(table, indent, has_rules, ("", "wide")),
        lambda: _grid(table, indent, has_rules, ("",)),
    )
    _print_left_out(table, console, indent)


def _print_left_out(table: Table, console: Console, indent: str) -> None:
    more = len(table.rows) - table.most_on_console
    where = ", on the page" if table.whole_in else ""
    print_lines([f"{indent}and {more} more{where}"] if more > 0 else [], console, "note")


def _grid(table: Table, indent: str, has_rules: bool, rooms: Sequence[str]) -> Grid:
    columns, rows = table.compact(table.most_on_console)
    grid = Grid(box=box.SIMPLE_HEAD if has_rules else None, pad_edge=False, header_style="dim" if indent else "bold")
    selection = [place for place, column in enumerate(columns) if column.room in rooms]
    for place in selection:
        title, justify = columns[place].title, "right" if columns[place].is_number else "left"
        grid.add_column(title if place else indent + title, justify=justify, overflow="fold", no_wrap=not place)
    for row in rows:
        grid.add_row(*(_text(row[place], "" if place else indent) for place in selection))
    return grid


def _text(cell: Cell, indent: str) -> Text:
    text = Text(one_line(indent + cell.text), style=_STYLES.get(cell.tone, ""))
    return text.append_text(Text(", ").join(_text(chip, "") for chip in cell.chips))


def _print_nested(table: Table, console: Console) -> None:
    columns, rows = table.compact(table.most_on_console)
    print_lines([_INDENT + table.title] if table.title and rows else [], console, "strong")
    for row in rows:
        texts = [cell.text for cell, column in zip(row, columns, strict=True) if column.room != "page" and cell.text]
        title = Text.assemble(2 * _INDENT, (texts[0], "yellow"), *(f": {text}" for text in texts[1:]))
        console.print(title, soft_wrap=True)
        print_lines([3 * _INDENT + line for cell in row for line in _sources(cell)], console, "note")
    _print_left_out(table, console, 2 * _INDENT)


def _sources(cell: Cell) -> Iterator[str]:
    """Its first lines of source, and names where these are few or are all that is known."""
    for line in cell.sources[:_MOST_SOURCES]:
        yield f"{line.place}  {line.line}{f' ({line.count} nodes)' if line.count > 1 else ''}"
    if len(cell.sources) > _MOST_SOURCES:
        yield f"and {count_of(len(cell.sources) - _MOST_SOURCES, 'more line')}"
    if cell.names and (len(cell.names) <= _MOST_NAMES or not cell.sources):
        yield list_first(cell.names, _MOST_SOURCES)
