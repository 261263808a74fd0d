"""A dump directory as pages: an index, and a page a module; and as a table on the console. From JSON alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare.report import dump_rows, numbers
from compare.report.page_html import styles, templates
from compare.report.showable import entries, on_lines, part, printable, text
from compare.report.terminal import print_table
from compare.writing import write_atomically

INDEX = "index.html"

LONGEST = 300
"""Rows of one table on a page: dump.json has them all."""

_LONGEST_NAME = 80
_COLUMNS = ("module", "function", "from", "HLO before → after", "fusions", "kernels", "vector", "buffers", "not read")
_NARROW_COLUMNS = ("module", "function", "from", "HLO before → after", "buffers")
"""What a terminal of 80 columns has room for; the index has the rest."""


def write_pages(dump: Mapping[str, Any], folder: Path) -> Path:
    """Write the index and a page a module into the folder, the index last; returns the index's path.

    Args:
      dump: what `compare.hlo.dumps.summary.summarize` found, as JSON.
      folder: is made where there is none.
    """
    safe = printable(dump)
    names = page_names(entries(safe, "modules"))
    pages = {name: module_page(module) for name, module in zip(names, entries(safe, "modules"), strict=True)}
    for name, page in (pages | {INDEX: index_page(safe, names)}).items():
        write_atomically(folder / name, page)
    return folder / INDEX


def page_names(modules: Sequence[object]) -> list[str]:
    """A file name a module, all of them different."""
    names: list[str] = []
    for module in modules:
        name = re.sub(r"[^\w.-]", "_", f"module_{text(module, 'number').zfill(4)}.{text(module, 'name')}")
        name = name[:_LONGEST_NAME].rstrip(".")
        again = sum(re.fullmatch(rf"{re.escape(name)}(?:-\d+)?\.html", name_taken) is not None for name_taken in names)
        names.append(f"{name}-{again + 1}.html" if again else f"{name}.html")
    return names


def index_page(dump: Mapping[str, Any], names: Sequence[str]) -> str:
    """The table of modules, and what belongs to none."""
    modules = entries(dump, "modules")
    return _render(
        "dump_index.html.j2",
        directory=text(dump, "directory"),
        modules=[(name, dump_rows.overview(module)) for name, module in zip(names, modules, strict=True)],
        files=dump_rows.files(file for module in modules for file in entries(module, "files")),
        unknown=dump_rows.files(entries(dump, "unknown")),
    )


def module_page(module: object) -> str:
    """Everything that is known of one module."""
    allocations = entries(module, "buffers", "allocations")
    return _render(
        "dump_module.html.j2",
        row=dump_rows.overview(module),
        name=text(module, "name"),
        problems=[(text(problem, "file"), text(problem, "reason")) for problem in entries(module, "problems")],
        ends=dump_rows.ends(module),
        opcodes=dump_rows.opcodes(module),
        left_out=[str(name) for stage in ("before", "after") for name in entries(module, "stages", stage, "left_out")],
        passes=dump_rows.passes(module),
        steps=[dump_rows.step(step) for step in entries(module, "stages", "steps")],
        kernels=[dump_rows.kernel(kernel) for kernel in entries(module, "kernels")],
        mlir=[dump_rows.lowered(lowered) for lowered in entries(module, "mlir")],
        ptx=[dump_rows.ptx(file, kernel) for file in entries(module, "ptx") for kernel in entries(file, "kernels")],
        thunks=[dump_rows.thunks(thunks) for thunks in entries(module, "thunks")],
        uses=dump_rows.uses(part(module, "buffers")),
        allocations=[dump_rows.allocation(allocation) for allocation in allocations[: dump_rows.LARGEST]],
        more_allocations=max(0, len(allocations) - dump_rows.LARGEST),
        peak=dump_rows.peak(entries(module, "buffers", "peak")),
        options=[str(option) for option in entries(module, "options")],
        files=dump_rows.files(entries(module, "files")),
    )


def print_modules(dump: Mapping[str, Any], console: Console) -> None:
    """A row a module, then a line for each file that could not be read or that belongs to none."""
    safe = on_lines(dump)
    table = _table(safe, console.is_terminal, _COLUMNS)
    print_table(console, table, lambda: _table(safe, console.is_terminal, _NARROW_COLUMNS))
    for line in _lines(safe):
        console.print(Text(line), soft_wrap=True)


def _table(dump: Mapping[str, Any], has_rules: bool, columns: Sequence[str]) -> Table:
    table = Table(*columns, box=box.SIMPLE_HEAD if has_rules else None, pad_edge=False)
    for module in entries(dump, "modules"):
        cells: dict[str, str] = dict(zip(_COLUMNS, _cells(dump_rows.overview(module)), strict=True))
        # Text, not str: a name such as "[red]" is no markup.
        table.add_row(*(Text(cells[title]) for title in columns))
    return table


def _render(template: str, **values: Any) -> str:
    return templates().get_template(template).render(style=styles("dump.css"), longest=LONGEST, **values)


def _cells(row: dump_rows.ModuleRow) -> tuple[str, ...]:
    names = (row.number, row.function, row.framework or numbers.MISSING)
    return (*names, f"{row.before} → {row.after}", row.fusions, row.kernels, row.vector, row.buffers, row.problems)


def _lines(dump: Mapping[str, Any]) -> Iterator[str]:
    for module in entries(dump, "modules"):
        for entry in entries(module, "problems"):
            yield f"not read: {text(entry, 'file')}: {' '.join(text(entry, 'reason').split())}"
    for entry in entries(dump, "unknown"):
        yield f"of no module: {text(entry, 'path')} ({numbers.binary_bytes(part(entry, 'bytes'))})"
