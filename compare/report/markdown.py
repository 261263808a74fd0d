"""Markdown tables and text that hold any string without it becoming markup. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from compare.report.showable import each_string, printable

_Value = TypeVar("_Value")

_MARKUP = re.compile(r"[\\`*\[\]|~#]|(?<![^\W_])_|_(?![^\W_])")
_LEADING = re.compile(r"^(\d*)([-+=.)])(?=[-=\s]|$)")
"""What makes a list, a rule or a heading of a line that starts with it."""
_UNCODED = re.compile(r"[`|<>&]")


@functools.lru_cache(4096)
def plain(text: str) -> str:
    """The text on one line, shown as it is: markup is escaped, and HTML too."""
    line = " ".join(printable(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LEADING.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", line))


def escape(value: _Value) -> _Value:
    """The same data with every string in it, and every key, as `plain` has it: nothing that is made of it is markup."""
    return each_string(value, plain)


def code(text: str) -> str:
    """The text on one line as code; as plain text where some of it could end the code or its cell, or pass for HTML."""
    line = " ".join(printable(text).split())
    return f"`{line}`" if line and not _UNCODED.search(line) else plain(line)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], left_columns: int = 1) -> list[str]:
    """Lines of a table, with a blank one after it; none where there are no rows.

    Args:
      titles: of its columns.
      rows: as many cells each, already escaped.
      left_columns: how many of the first columns are text; the others are numbers.
    """
    rules = ["---" if place < left_columns else "---:" for place in range(len(titles))]
    lines = [f"| {' | '.join(cells)} |" for cells in (titles, rules, *rows)]
    return [*lines, ""] if len(lines) > 2 else []
