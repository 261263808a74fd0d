"""Markdown tables and text that hold any string without it becoming markup. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(r"([\\`*\[\]|~#])")


def plain(text: str) -> str:
    """The text on one line, shown as it is: markup is escaped, and HTML too."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", line)


def code(text: str) -> str:
    """The text on one line as code: in a fence longer than any run of backticks in it."""
    # A table's cell ends at a bar even inside code.
    line = " ".join(text.split()).replace("|", "¦")
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}" if line else ""


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of a table, with a blank one after it; the first `left` columns are text, the others numbers."""
    rules = ["---" if place < left else "---:" for place in range(len(titles))]
    lines = [f"| {' | '.join(cells)} |" for cells in (titles, rules, *rows)]
    return [*lines, ""] if len(lines) > 2 else []
