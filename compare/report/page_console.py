"""Pages on a console: tables and sentences; what is a chart or behind a click stands on the page alone."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from compare.report.pages import Cell, Lines, Page, Section, Table
from compare.report.showable import one_line
from compare.report.terminal import print_table

_STYLES = {"strong": "bold", "pass": "green", "fail": "red", "warning": "yellow", "note": "dim"}
_INDENT = "  "


def print_page(page: Page, console: Console) -> None:
    """Print what the page is of, every section, and how they are to be read."""
    if page.summary:
        print_lines([page.summary, ""], console, "strong")
    for section in page.sections:
        print_section(section, console)
        console.print()
    print_lines(page.notes, console, "note")


def print_section(section: Section, console: Console) -> None:
    """Print a section: its tables, below them what follows."""
    print_lines([": ".join(filter(None, (section.name, section.summary)))], console, "strong")
    blocks = [block for block in section.blocks if isinstance(block, Table | Lines)]
    for place, block in enumerate(blocks):
        if isinstance(block, Table):
            if place and block.rows:
                console.print()
            print_rows(block, console, _INDENT)
        else:
            _print_block(block, console)
    print_lines(section.conclusions, console)


def _print_block(block: Lines, console: Console) -> None:
    if block.title and block.lines:
        print_lines([f"{block.title}:"], console)
    print_lines([f"{_INDENT if block.title else ''}{line}" for line in block.lines], console, block.tone)


def print_lines(lines: Sequence[str], console: Console, tone: str = "") -> None:
    """Print sentences, one a line."""
    for line in lines:
        console.print(Text(line, style=_STYLES.get(tone, "")), soft_wrap=True)


def print_rows(table: Table, console: Console, indent: str = "") -> None:
    """Print a table, without its wide columns where a terminal has no room for them.

    Args:
      table: to print.
      console: where to.
      indent: before each line of a table that stands in a section; one that stands alone has rules on a terminal.
    """
    if table.rows:
        has_rules = console.is_terminal and not indent
        print_table(console, _grid(table, indent, has_rules), lambda: _grid(table, indent, has_rules, is_narrow=True))
    if table.left_out:
        console.print(Text(f"{indent}{table.left_out}", style="dim"), soft_wrap=True)


def _grid(table: Table, indent: str, has_rules: bool, is_narrow: bool = False) -> Grid:
    columns, rows = table.compact()
    grid = Grid(box=box.SIMPLE_HEAD if has_rules else None, pad_edge=False, header_style="dim" if indent else "bold")
    selection = [place for place, column in enumerate(columns) if not (is_narrow and column.is_wide)]
    for place in selection:
        title, justify = columns[place].title, "right" if columns[place].is_number else "left"
        grid.add_column(title if place else indent + title, justify=justify, overflow="fold", no_wrap=not place)
    for row in rows:
        grid.add_row(*(_text(row[place], "" if place else indent) for place in selection))
    return grid


def _text(cell: Cell, indent: str) -> Text:
    return Text(one_line(indent + cell.text), style=_STYLES.get(cell.tone, ""))
