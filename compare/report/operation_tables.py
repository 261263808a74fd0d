"""TensorFlow's operations on the console: counts, a list, each in full, and what a model lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from compare.counterparts.raw_operations import PLUMBING, RawOperation, RawTable
from compare.counterparts.rows import Operation as MapRow
from compare.counterparts.rows import Row
from compare.operations.finding import Found
from compare.operations.missing import Missing
from compare.report.numbers import list_first
from compare.report.page_console import print_facts, print_lines, print_rows
from compare.report.pages import Column, Facts, Table, columns
from workloads.protocol.inspection import Operation
from workloads.protocol.raw_operations import XLA_DEVICE

_DOCUMENTS = {"operations": "~1500", "xla_kernel": "~500", "hlo_opcodes": "~50"}
"""The counts in lectures on TensorFlow's XLA, in round numbers and without a list."""

_GRADIENT = {"registered": "yes", "none": "none", "missing": "no"}
"""By what is registered, whether there is a gradient: none at all, or asking for it raises."""

_MISSING = (Column("operation"), Column("nodes", "number"), *columns("why", "where"))
_MOST_NAMES = 8
"""The most names of layers or operations that contain an operation."""


def count_table(table: RawTable) -> Table:
    """How many operations there are, beside the numbers that documents give."""
    counts = table.counts
    rows = (
        ("registered", counts["public"], counts["operations"], "operations"),
        ("with a kernel for the CPU", counts["public_cpu_kernel"], counts["cpu_kernel"], ""),
        ("with a kernel for XLA", counts["public_xla_kernel"], counts["xla_kernel"], "xla_kernel"),
        ("of which a call was compiled", None, counts["compiled"], ""),
        ("of which every call was refused", None, counts["refused"], ""),
        ("HLO opcodes that these calls became", None, counts["hlo_opcodes"], "hlo_opcodes"),
    )
    cells = [
        (name, "" if public is None else f"{public:,}", f"{every:,}", _DOCUMENTS.get(document, ""))
        for name, public, every, document in rows
    ]
    return Table((*columns("operations"), *columns("public", "all", "documents", kind="number")), cells)


def operation_table(operations: Sequence[Found]) -> Table:
    """An operation a line."""
    rows = list(map(_line, operations))
    return Table(columns("operation", "CPU", "XLA", "gradient", "in JAX"), rows, most_on_console=len(rows))


def _line(operation: Found) -> tuple[str, ...]:
    operation_row = operation.operation
    if operation_row is None:
        return (operation.name, "", "", "", "")
    code = _code(operation.about[0]) if operation.about else _without_row(operation.name, operation_row)
    return (operation.name, _on_cpu(operation_row), operation_row.xla, _GRADIENT[operation_row.gradient], code)


def _code(row: Row) -> str:
    """The counterpart of a row in JAX, on one line; without one, what to do instead."""
    code = row.jax.strip() or getattr(row, "flax", "")
    return "; ".join(line.strip() for line in code.splitlines()) if code else f"none. {row.note}"


def _on_cpu(operation_row: RawOperation) -> str:
    return "yes" if "CPU" in operation_row.kernels or "DEFAULT" in operation_row.kernels else "no"


def _without_row(name: str, operation_row: RawOperation) -> str:
    """The text for an operation without a row."""
    if name in PLUMBING:
        return "(plumbing)"
    parts = (("part of", operation_row.within), ("in the gradient of", operation_row.backward))
    return next((f"({words} {names[0]})" for words, names in parts if names), "")


def print_in_full(operations: Sequence[Found], console: Console) -> None:
    """Print operations with all that is known of each."""
    for operation in operations:
        print_lines([operation.name], console, "strong")
        print_facts(Facts([fact for fact in _facts(operation) if fact[1]]), console, "  ")
        console.print()


def _facts(operation: Found) -> Iterator[tuple[str, str]]:
    operation_row = operation.operation
    if operation_row is None:
        return
    for row in operation.about:
        code = row.tf if isinstance(row, MapRow) else row.keras
        yield (
            "in JAX",
            f"{code}: {_code(row)}" + ("" if operation.version == operation.name else f"  (as {operation.version})"),
        )
    if not operation.about:
        yield "in JAX", _without_row(operation.name, operation_row) or "the map has no row of it"
    yield "gotchas", ", ".join(operation.gotchas)
    yield "XLA", _of_xla(operation_row)
    yield (
        "constants",
        ", ".join(operation_row.constants) and f"{', '.join(operation_row.constants)}: known at compile time, for XLA",
    )
    yield "HLO", " ".join(operation_row.opcodes)
    yield "gradient", {**_GRADIENT, "missing": "no: asking for it raises"}[operation_row.gradient]
    yield "state", "has state or side effects" if operation_row.stateful else ""
    yield "part of", list_first(operation_row.within, _MOST_NAMES)
    yield "gradient of", list_first(operation_row.backward, _MOST_NAMES)
    for device, dtypes in operation_row.kernels.items():
        yield device, "; ".join(f"{name}: {' '.join(types)}" for name, types in dtypes.items()) or "any dtype"
    yield "public", "" if operation_row.public else "no: tf.raw_ops does not have it"


def _of_xla(operation_row: RawOperation) -> str:
    match operation_row.xla:
        case "no kernel":
            folding_text = (
                "; it compiled where its inputs were constants, which TensorFlow folds before"
                if operation_row.folded
                else ""
            )
            return f"cannot compile it: there is no kernel for {XLA_DEVICE}{folding_text}"
        case "refused":
            return f"has a kernel, which refused each call that was tried: {operation_row.reason}"
        case "not tried":
            return "has a kernel; no call was tried"
    where = "by itself" if operation_row.alone else "with an expression around it"
    return f"compiled a call {where}" + (f"; refused another: {operation_row.reason}" if operation_row.reason else "")


def print_missing(lacking: Sequence[Missing], operations: Sequence[Operation], console: Console) -> None:
    """Print what a model lacks: what does not compile, then what has no counterpart.

    Args:
      lacking: in the order in which it is printed.
    """
    types = {operation.type for operation in operations}
    for lacks, title in (("compile", "XLA cannot compile here"), ("counterpart", "without a counterpart in JAX")):
        of_it = [missing for missing in lacking if missing.lacks == lacks]
        nodes = sum(missing.count for missing in of_it)
        lacking_types = f"{len({missing.type for missing in of_it})} of {len(types)} types"
        print_lines([f"{title}: {lacking_types}, {nodes} of {len(operations)} nodes"], console)
        rows = [(missing.type, str(missing.count), missing.why, " ".join(missing.places)) for missing in of_it]
        if rows:
            print_rows(Table(_MISSING, rows, most_on_console=len(rows)), console, "  ")
            console.print()
