"""A dump directory as pages: an index, and a page a module; and as a table on the console. From JSON alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare.report import numbers
from compare.report.html import TEMPLATES, templates
from compare.report.showable import entries, mapping, on_lines, part, printable, text
from compare.writing import write_atomically

INDEX = "index.html"

LONGEST = 300
"""Rows of one table on a page: dump.json has them all."""

_LARGEST = 12
"""Allocations that a page shows with their values."""

_LONGEST_NAME = 80
_CHANGES = {"structure": "shapes, layouts, order or attributes", "nothing": "nothing"}
_COLUMNS = ("module", "function", "from", "HLO before → after", "fusions", "kernels", "vector", "buffers", "not read")
_NARROW_COLUMNS = ("module", "function", "from", "HLO before → after", "buffers")
"""What a terminal of 80 columns has room for; the index has the rest."""


def write_pages(dump: Mapping[str, Any], folder: Path) -> Path:
    """Write the index and a page a module into the folder, the index last; returns the index's path.

    Args:
      dump: what `compare.hlo.dumps.summary.summarize` found, as JSON.
      folder: is made where there is none.
    """
    shown = printable(dump)
    names = page_names(entries(shown, "modules"))
    pages = {name: module_page(module) for name, module in zip(names, entries(shown, "modules"), strict=True)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in (pages | {INDEX: index_page(shown, names)}).items():
        write_atomically(folder / name, page)
    return folder / INDEX


def page_names(modules: Sequence[object]) -> list[str]:
    """A file name a module, all of them different."""
    names: list[str] = []
    for module in modules:
        name = re.sub(r"[^\w.-]", "_", f"module_{text(module, 'number').zfill(4)}.{text(module, 'name')}")
        name = name[:_LONGEST_NAME].rstrip(".")
        again = sum(re.fullmatch(rf"{re.escape(name)}(?:-\d+)?\.html", taken) is not None for taken in names)
        names.append(f"{name}-{again + 1}.html" if again else f"{name}.html")
    return names


def index_page(dump: Mapping[str, Any], names: Sequence[str]) -> str:
    """The table of modules, and what belongs to none."""
    modules = entries(dump, "modules")
    return _render(
        "dump_index.html.j2",
        directory=text(dump, "directory"),
        modules=[(name, _overview(module)) for name, module in zip(names, modules, strict=True)],
        files=_files(file for module in modules for file in entries(module, "files")),
        unknown=_files(entries(dump, "unknown")),
    )


def module_page(module: object) -> str:
    """Everything that is known of one module."""
    held = entries(module, "buffers", "allocations")
    return _render(
        "dump_module.html.j2",
        row=_overview(module),
        name=text(module, "name"),
        problems=[(text(problem, "file"), text(problem, "reason")) for problem in entries(module, "problems")],
        ends=_ends(module),
        opcodes=_opcodes(module),
        left_out=[str(name) for stage in ("before", "after") for name in entries(module, "stages", stage, "left_out")],
        passes=_passes(module),
        steps=[_step(step) for step in entries(module, "stages", "steps")],
        kernels=[_kernel(kernel) for kernel in entries(module, "kernels")],
        mlir=[_mlir(lowered) for lowered in entries(module, "mlir")],
        ptx=[_ptx(file, kernel) for file in entries(module, "ptx") for kernel in entries(file, "kernels")],
        thunks=[_thunks(thunks) for thunks in entries(module, "thunks")],
        uses=_uses(part(module, "buffers")),
        allocations=[_allocation(allocation) for allocation in held[:_LARGEST]],
        more_allocations=max(0, len(held) - _LARGEST),
        peak=_peak(entries(module, "buffers", "peak")),
        options=[str(option) for option in entries(module, "options")],
        files=_files(entries(module, "files")),
    )


def print_modules(dump: Mapping[str, Any], console: Console) -> None:
    """A row a module, then a line for each file that could not be read or that belongs to none."""
    shown = on_lines(dump)
    table = _table(shown, console.is_terminal, _COLUMNS)
    width = console.measure(table, options=console.options.update(max_width=10_000)).maximum
    if not console.is_terminal:
        # A pipe has no width: a folded table cannot be searched.
        table.width = width
    elif width > console.width:
        table = _table(shown, console.is_terminal, _NARROW_COLUMNS)
    console.print(table, soft_wrap=not console.is_terminal)
    for line in _lines(shown):
        console.print(Text(line), soft_wrap=True)


def _table(dump: Mapping[str, Any], ruled: bool, columns: Sequence[str]) -> Table:
    table = Table(*columns, box=box.SIMPLE_HEAD if ruled else None, pad_edge=False)
    for module in entries(dump, "modules"):
        cells: dict[str, str] = dict(zip(_COLUMNS, _cells(_overview(module)), strict=True))
        # Text, not str: a name such as "[red]" is no markup.
        table.add_row(*(Text(cells[title]) for title in columns))
    return table


def _render(template: str, **values: Any) -> str:
    css = ((TEMPLATES / name).read_text() for name in ("report.css", "dump.css"))
    return templates().get_template(template).render(style=Markup("\n".join(css)), longest=LONGEST, **values)


def _overview(module: object) -> dict[str, str]:
    kernels = entries(module, "kernels")
    bits = max((numbers.finite(part(kernel, "optimized", "vector_bits")) or 0 for kernel in kernels), default=0)
    kind = "autocluster" if part(module, "cluster") is not None else text(module, "direction")
    return {
        "number": text(module, "number"),
        "function": text(module, "function"),
        "framework": " ".join(filter(None, (text(module, "framework"), kind))),
        "before": numbers.count(part(module, "stages", "before", "instructions")),
        "after": numbers.count(part(module, "stages", "after", "instructions")),
        "fusions": numbers.count(part(module, "stages", "after", "fusions")),
        "kernels": numbers.count(len(kernels) + sum(len(entries(file, "kernels")) for file in entries(module, "ptx"))),
        "vector": f"{bits:.0f} bits" if bits else numbers.MISSING,
        "buffers": numbers.binary_bytes(part(module, "buffers", "total")),
        "temp": numbers.binary_bytes(part(module, "buffers", "by_use", "temp")),
        "problems": numbers.count(len(entries(module, "problems"))),
    }


def _cells(row: Mapping[str, str]) -> tuple[str, ...]:
    stages = f"{row['before']} → {row['after']}"
    names = (row["number"], row["function"], row["framework"] or numbers.MISSING)
    return (*names, stages, row["fusions"], row["kernels"], row["vector"], row["buffers"], row["problems"])


def _lines(dump: Mapping[str, Any]) -> Iterator[str]:
    for module in entries(dump, "modules"):
        for entry in entries(module, "problems"):
            yield f"not read: {text(entry, 'file')}: {' '.join(text(entry, 'reason').split())}"
    for entry in entries(dump, "unknown"):
        yield f"of no module: {text(entry, 'path')} ({numbers.binary_bytes(part(entry, 'bytes'))})"


def _files(files: Iterator[Any] | Sequence[Any]) -> list[tuple[str, str, str]]:
    return [(text(file, "path"), numbers.binary_bytes(part(file, "bytes")), text(file, "kind")) for file in files]


def _ends(module: object) -> list[tuple[str, list[str]]]:
    """What is counted, and the count before and after optimization."""
    stages = [part(module, "stages", stage) for stage in ("before", "after")]
    if not any(stages):
        return []
    names = ("instructions", "computations", "fusions")
    return [(name, [numbers.count(part(stage, name)) for stage in stages]) for name in names]


def _opcodes(module: object) -> list[tuple[str, str, str, str]]:
    """Opcodes with both counts and the change, the most frequent in the end first; empty unless both are known."""
    before, after = (mapping(module, "stages", stage, "opcodes") for stage in ("before", "after"))
    if not before or not after:
        return []
    names = sorted({*before, *after}, key=lambda opcode: (-_number(after, opcode), -_number(before, opcode), opcode))
    ends = [(name, _number(before, name), _number(after, name)) for name in names]
    return [(name, f"{first:,}", f"{second:,}", _signed(second - first)) for name, first, second in ends]


def _number(counts: Mapping[str, Any], name: str) -> int:
    return int(numbers.finite(counts.get(name)) or 0)


def _signed(change: float) -> str:
    return f"{change:+,.0f}" if change else ""


def _passes(module: object) -> list[dict[str, Any]]:
    rows = entries(module, "stages", "passes")
    counted = [numbers.finite(part(row, "instructions")) or 0 for row in rows]
    most = max(counted, default=0) or 1
    return [_pass(row, count / most) for row, count in zip(rows, counted, strict=True)]


def _pass(row: object, share: float) -> dict[str, Any]:
    after, changed = text(row, "after"), text(row, "changed")
    opcodes = ", ".join(f"{_signed(numbers.finite(n) or 0)} {name}" for name, n in mapping(row, "opcodes").items())
    return {
        "order": text(row, "order"),
        "pipeline": text(row, "pipeline"),
        "name": {"": "(after the last dump)", "pipeline-start": "(pipeline starts)"}.get(after, after),
        "instructions": numbers.count(part(row, "instructions")),
        "bar": f"{100 * share:.1f}%",
        "changes": changed != "nothing",
        "changed": opcodes or _CHANGES.get(changed, "not known"),
    }


def _step(row: object) -> dict[str, Any]:
    return {
        "indent": f"{1.2 * (numbers.finite(part(row, 'depth')) or 0):.1f}rem",
        "name": text(row, "name"),
        "opcode": " ".join(filter(None, (text(row, "opcode"), text(row, "kind")))),
        "shape": text(row, "shape"),
        "within": _counts(mapping(row, "within")),
        "op_name": text(row, "op_name"),
        "source": text(row, "source"),
    }


def _counts(counts: Mapping[str, Any]) -> str:
    """Each name, as in "add, 2 multiply", with its count where there are several."""
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())


def _kernel(row: object) -> dict[str, Any]:
    ends = [part(row, end) for end in ("unoptimized", "optimized")]
    last = ends[1]
    return {
        "name": text(row, "name") or "(the whole module)",
        "functions": [numbers.count(len(entries(end, "functions")) if end else None) for end in ends],
        "instructions": [numbers.count(part(end, "instructions")) for end in ends],
        "bytes": [numbers.binary_bytes(part(end, "bytes")) for end in ends],
        "vector": text(last, "vector") or ("none" if last else numbers.MISSING),
        "bits": numbers.count(part(last, "vector_bits")),
        "vectors": numbers.count(part(last, "vector_instructions")),
        "preferred": numbers.count(part(last, "preferred_bits")),
    }


def _mlir(row: object) -> tuple[str, str, str, str, str]:
    name, step = text(row, "kernel") or text(row, "file"), text(row, "step") or "as the frontend handed it over"
    lines, size = numbers.count(part(row, "lines")), numbers.binary_bytes(part(row, "bytes"))
    return name, step, lines, size, _counts(mapping(row, "operations"))


def _ptx(file: object, kernel: object) -> tuple[str, str, str, str, str]:
    registers = ", ".join(f"{count} {kind}" for kind, count in mapping(kernel, "registers").items())
    launch = ", ".join(f"{name} {value}" for name, value in mapping(kernel, "launch").items())
    return text(kernel, "name"), text(file, "target"), numbers.count(part(kernel, "parameters")), registers, launch


def _thunks(row: object) -> dict[str, Any]:
    return {
        "file": text(row, "file"),
        "kinds": _counts(mapping(row, "kinds")),
        "lines": [
            (f"{1.2 * (numbers.finite(part(thunk, 'depth')) or 0):.1f}rem", text(thunk, "kind"), text(thunk, "what"))
            for thunk in entries(row, "thunks")
        ],
    }


def _uses(buffers: object) -> list[tuple[str, str, str]]:
    """Bytes by use, each with its part of all as the width of a bar."""
    total = numbers.finite(part(buffers, "total")) or 0
    rows = [(name, numbers.finite(size) or 0) for name, size in mapping(buffers, "by_use").items()]
    return [(name, numbers.binary_bytes(size), f"{100 * size / total if total else 0:.1f}%") for name, size in rows]


def _allocation(row: object) -> dict[str, Any]:
    values = sorted(entries(row, "values"), key=lambda value: -(numbers.finite(part(value, "bytes")) or 0))
    use, said = text(row, "use"), text(row, "said")
    return {
        "number": text(row, "number"),
        "bytes": numbers.binary_bytes(part(row, "bytes")),
        # A variable that is updated in place: XLA returns the parameter's own bytes.
        "use": f"{use}, also output" if use == "parameter" and "maybe-live-out" in said else use,
        "said": said,
        "values": [_value(value) for value in values[:_LARGEST]],
        "more": max(0, len(values) - _LARGEST),
    }


def _value(row: object) -> tuple[str, str, str, str, str]:
    where = f"{text(row, 'instruction')} {text(row, 'index')}".strip()
    size = numbers.binary_bytes(part(row, "bytes"))
    return where, text(row, "opcode"), text(row, "shape"), size, text(row, "op_name")


def _peak(rows: Sequence[object]) -> tuple[str, list[tuple[str, str]]]:
    """Bytes live at the peak, and the values that they belong to."""
    sizes = [numbers.finite(part(row, "bytes")) or 0 for row in rows]
    named = [(text(row, "instruction"), numbers.binary_bytes(size)) for row, size in zip(rows, sizes, strict=True)]
    return numbers.binary_bytes(sum(sizes)), named
