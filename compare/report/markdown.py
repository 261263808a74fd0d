"""Pages as Markdown, and its tables and texts, which hold any string without it becoming markup. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from compare.report.pages import Cell, Facts, Lines, Page, Table
from compare.report.showable import each_string, printable

_Value = TypeVar("_Value")

_MARKUP = re.compile(r"[\\`*\[\]|~#]|(?<![^\W_])_|_(?![^\W_])")
_LEADING = re.compile(r"^(\d*)([-+=.)])(?=[-=\s]|$)")
"""Characters that turn the line they start into a list, a rule or a heading."""
_UNCODED = re.compile(r"[`|<>&]")


@functools.lru_cache(4096)
def plain(text: str) -> str:
    """The text on one line, shown as it is: markup is escaped, and HTML too."""
    line = " ".join(printable(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LEADING.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", line))


def escape(value: _Value) -> _Value:
    """The data with `plain` applied to every string and key, so that none is read as markup."""
    return each_string(value, plain)


def code(text: str) -> str:
    """The text on one line as code; as plain text where some of it could end the code or its cell, or pass for HTML."""
    line = " ".join(printable(text).split())
    return f"`{line}`" if line and not _UNCODED.search(line) else plain(line)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], left_columns: int = 1) -> list[str]:
    """Lines of a table, with a blank one after it; none where there are no rows.

    Args:
      left_columns: how many of the first columns are text; the others are numbers.
    """
    rules = ["---" if place < left_columns else "---:" for place in range(len(titles))]
    return _grid(titles, rules, rows)


def _grid(titles: Sequence[str], rules: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(cells)} |" for cells in (titles, rules, *rows)]
    return [*lines, ""] if len(lines) > 2 else []


def render(page: Page) -> str:
    """A page, without its charts and what stands behind a click."""
    facts = [f"Made by {code(page.command)}: change nothing here by hand.", *map(plain, page.origin)]
    lines = [f"# {plain(page.title)}", "", " ".join(facts), "", *_paragraphs([page.summary]), *parts(page)]
    return "\n".join(lines).rstrip() + "\n"


def parts(page: Page) -> Iterator[str]:
    """The lines of its sections and notes, as parts of a page."""
    for section in page.sections:
        yield from (f"## {plain(section.name)}", "", *_paragraphs([section.summary]), *_items(section.conclusions))
        for block in section.blocks:
            if isinstance(block, Table):
                yield from (*rows_of(each_string(block, plain)), *_paragraphs([block.left_out]))
            elif isinstance(block, Facts):
                texts = ((title, fact.text if isinstance(fact, Cell) else fact) for title, fact in block.pairs)
                yield from _items(f"{title}: {text}" for title, text in texts)
            elif isinstance(block, Lines):
                yield from _paragraphs([f"{block.title}:"] if block.title and block.lines else [])
                yield from _items(block.lines)
    yield from ("## How to read it", "", *_items(page.notes)) if page.notes else ()


def _paragraphs(texts: Iterable[str]) -> list[str]:
    return [line for text in texts if text for line in (plain(text), "")]


def _items(lines: Iterable[str]) -> list[str]:
    items = [f"- {plain(line)}" for line in lines]
    return [*items, ""] if items else []


def rows_of(table: Table) -> list[str]:
    """Lines of a table whose texts are escaped, as those are that were made from an escaped record."""
    columns, rows = table.compact(table.most_on_page)
    rules = ["---:" if column.is_number else "---" for column in columns]
    cells = [[" ".join(filter(None, (cell.text, cell.note))) for cell in row] for row in rows]
    return _grid([column.title for column in columns], rules, cells)
