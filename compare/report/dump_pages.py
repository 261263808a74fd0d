"""A dump directory as an index and a page for each module, and as tables on the console. From JSON alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from compare.files import Json
from compare.report import dump_module_page, numbers, page_html
from compare.report.dump_module_page import FILES, LONGEST, WHOLE, files
from compare.report.numbers import count_of
from compare.report.page_console import print_lines, print_rows, print_section
from compare.report.pages import Cell, Column, Lines, Page, Section, Table
from compare.report.showable import entries, mapping, on_lines, part, printable, text

INDEX = "index.html"

_LONGEST_NAME = 80
_COLUMNS = (
    *(Column("module"), Column("function", "wrap"), Column("from"), Column("HLO before → after")),
    *(Column("fusions", "number", "wide"), Column("kernels", "number", "wide"), Column("vector", room="wide")),
    *(Column("buffers", "number"), Column("of these temporary", "number", "page")),
    Column("not read", "number", "wide"),
)
_CALLS = (
    *(Column("function", "code wrap"), Column("_XlaMustCompile"), Column("executor_type")),
    *(Column("config_proto", "code wrap"), Column("node", "code wrap"), Column("called by", "code wrap", "page")),
    *(Column("graphs", "number"), Column("first graph", "wrap", "page")),
)
_CALLS_NOTE = (
    "With _XlaMustCompile true a function is compiled as a whole, as jit_compile=True asks; without it, autoclustering "
    "may compile parts."
)
_NOTE = (
    "HLO counts the instructions of every computation, those inside fusions included. A kernel is a module of LLVM IR "
    "or an entry of PTX; what XLA hands to a library has none."
)


def write_pages(dump: Json, folder: Path) -> Path:
    """Write the index and a page a module into the folder, the index last; returns the index's path.

    Args:
      dump: what `compare.hlo.dumps.summary.summarize` found, as JSON.
    """
    modules = entries(printable(dump), "modules")
    for name, module in zip(page_names(modules), modules, strict=True):
        page_html.write_page(dump_module_page.page(module), folder / name)
    return page_html.write_page(index_page(dump), folder / INDEX)


def page_names(modules: Sequence[object]) -> list[str]:
    """A unique file name for each module."""
    names: list[str] = []
    for module in modules:
        name = re.sub(r"[^\w.-]", "_", f"module_{text(module, 'number').zfill(4)}.{text(module, 'name')}")
        name = name[:_LONGEST_NAME].rstrip(".")
        again = sum(re.fullmatch(rf"{re.escape(name)}(?:-\d+)?\.html", name_taken) is not None for name_taken in names)
        names.append(f"{name}-{again + 1}.html" if again else f"{name}.html")
    return names


def index_page(dump: Json) -> Page:
    """The table of modules, and of files without a module."""
    modules, unknown = entries(dump, "modules"), files(entries(dump, "unknown"))
    count = sum(len(entries(module, "files")) for module in modules)
    rest = Table(FILES, unknown, most=LONGEST, whole_in=WHOLE)
    return Page(
        command="jaxport dump",
        title=f"{count_of(len(modules), 'module')} that XLA compiled",
        origin=[text(dump, "directory"), f"{count} files of modules", f"{len(unknown)} of none"],
        sections=[
            Section("Modules", blocks=[_modules(dump), Lines([_NOTE], "note")]),
            *_calls(dump),
            Section("Other files", blocks=[rest if unknown else Lines(["Every file belongs to a module."], "note")]),
        ],
    )


def _calls(dump: Json) -> list[Section]:
    """The calls of functions in graphs, where there were graphs to read."""
    calls, reasons = entries(dump, "calls"), list(mapping(dump, "graphs_not_read").items())
    if not calls and not reasons:
        return []
    lines = [f"not read: {name}: {reason}" for name, reason in reasons]
    rows = [_call(call) for call in calls]
    table = Table(_CALLS, rows, "calls", most=LONGEST, whole_in=WHOLE, most_on_console=len(rows))
    blocks = [table, Lines([*lines, _CALLS_NOTE], "note")]
    return [Section("Calls of functions in the graphs", blocks=blocks)]


def _call(call: object) -> tuple[str, ...]:
    must = part(call, "must_compile")
    config, executor = part(call, "config"), part(call, "executor")
    return (
        text(call, "function"),
        numbers.MISSING if must is None else str(must).lower(),
        numbers.MISSING if executor is None else str(executor) or "default",
        numbers.MISSING if config is None else str(config) or "empty",
        text(call, "node"),
        text(call, "caller") or "the graph",
        text(call, "files"),
        text(call, "file"),
    )


def _modules(dump: Json) -> Table:
    """A row a module."""
    modules = entries(dump, "modules")
    rows = [_row(module, name) for module, name in zip(modules, page_names(printable(modules)), strict=True)]
    return Table(_COLUMNS, rows, "modules", most=len(rows), most_on_console=len(rows))


def _row(module: object, page: str) -> tuple[Cell | str, ...]:
    kernels = entries(module, "kernels")
    bits = max((numbers.finite(part(kernel, "optimized", "vector_bits")) or 0 for kernel in kernels), default=0)
    ends = [numbers.count(part(module, "stages", stage, "instructions")) for stage in ("before", "after")]
    problems = len(entries(module, "problems"))
    return (
        text(module, "number"),
        Cell(text(module, "function"), link=page),
        dump_module_page.framework(module) or numbers.MISSING,
        " → ".join(ends),
        numbers.count(part(module, "stages", "after", "fusions")),
        numbers.count(_kernels(module)),
        f"{bits:.0f} bits" if bits else numbers.MISSING,
        numbers.binary_bytes(part(module, "buffers", "total")),
        numbers.binary_bytes(part(module, "buffers", "by_use", "temp")),
        Cell(numbers.count(problems), "warning" if problems else ""),
    )


def _kernels(module: object) -> float | None:
    """The number of kernels whose code was dumped; if there are none, that of the launches of a GPU."""
    count = len(entries(module, "kernels")) + sum(len(entries(file, "kernels")) for file in entries(module, "ptx"))
    launches = [part(thunks, "launched") for thunks in entries(module, "thunks")]
    return count or numbers.finite(next(iter(launches), 0))


def print_modules(dump: Json, console: Console) -> None:
    """A row a module, then a line for each file that could not be read or that belongs to none."""
    safe = on_lines(dump)
    print_rows(_modules(safe), console)
    for section in _calls(safe):
        print_section(section, console)
    print_lines(list(_lines(safe)), console)


def _lines(dump: Json) -> Iterator[str]:
    for module in entries(dump, "modules"):
        for entry in entries(module, "problems"):
            yield f"not read: {text(entry, 'file')}: {' '.join(text(entry, 'reason').split())}"
    for entry in entries(dump, "unknown"):
        yield f"of no module: {text(entry, 'path')} ({numbers.binary_bytes(part(entry, 'bytes'))})"


def print_files(dump: Json, console: Console) -> None:
    """Print the files of each module, by kind, without the common prefix; then the other files."""
    safe = on_lines(dump)
    for module in entries(safe, "modules"):
        name = text(module, "name")
        rows = [(tail(path, name), size, kind) for path, size, kind in files(entries(module, "files"))]
        _print(f"module {text(module, 'number')}, {text(module, 'function')}", rows, console)
    unknown = files(entries(safe, "unknown"))
    if unknown:
        _print("of no module", unknown, console)


def _print(title: str, rows: Sequence[tuple[str, str, str]], console: Console) -> None:
    table = Table(FILES, rows, most_on_console=len(rows))
    print_section(Section(title, count_of(len(rows), "file"), blocks=[table]), console)


def tail(path: str, module: str) -> str:
    """The file name without its module's name, if it contains that."""
    _, separator, after = path.rpartition(f"{module}.")
    return after if separator else path
