"""Every file of a dump directory with what it is, on a terminal. From JSON alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare.report import dump_rows
from compare.report.numbers import count_of
from compare.report.showable import entries, on_lines, text
from compare.report.terminal import print_table


def print_files(dump: Mapping[str, Any], console: Console) -> None:
    """The files of each module, by kind, without the name of the module that they all begin with; then the others."""
    safe = on_lines(dump)
    for module in entries(safe, "modules"):
        rows = dump_rows.files(entries(module, "files"))
        title = f"module {text(module, 'number')}, {text(module, 'function')}: {count_of(len(rows), 'file')}"
        console.print(Text(title, style="bold"), soft_wrap=True)
        name = text(module, "name")
        _print([(tail(path, name), size, kind) for path, size, kind in rows], console)
    unknown = dump_rows.files(entries(safe, "unknown"))
    if unknown:
        console.print(Text(f"of no module: {count_of(len(unknown), 'file')}", style="bold"), soft_wrap=True)
        _print(unknown, console)


def tail(path: str, module: str) -> str:
    """What a file name says beyond its module's name; all of it where that is not in it.

    Args:
      path: below the directory.
      module: the module's name.
    """
    _, separator, after = path.rpartition(f"{module}.")
    return after if separator else path


def _print(rows: list[tuple[str, str, str]], console: Console) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for justify in ("left", "right", "left"):
        table.add_column(justify=justify, overflow="fold")
    for path, size, kind in rows:
        table.add_row(Text(f"  {path}"), Text(size), Text(kind))
    print_table(console, table)
