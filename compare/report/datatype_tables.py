"""Functions in every data type, on a console and as a page of Markdown."""

from __future__ import annotations

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from compare.record.datatypes_part import TypedFunction, TypedFunctions
from compare.report import datatype_rows, markdown
from compare.report.terminal import cell, print_table

LEGEND = (
    "A number is the largest error against the same function in float64, relative to its largest value; that of the "
    "reference, TensorFlow's eager mode, is what the others are measured by.",
    "`holds`: the gates' rules for this type hold, integers and booleans exactly. `gives`: another type than the "
    "reference gives, or than the inputs have where there is none.",
    "`differs`: further from float64 than the rules allow, or another integer. `refused`: the framework raised. "
    "`lost`: its worker crashed or did not answer. `not judged`: nothing to hold it against, or only "
    "int64 in place of the type, which disagrees.",
)
_LONGEST = 220


def print_functions(functions: TypedFunctions, console: Console) -> None:
    """Print every function."""
    for function in functions.functions:
        console.print(Text(datatype_rows.inputs_line(function), style="bold"), soft_wrap=True)
        titles = datatype_rows.columns(function)
        table = Table(
            Column("  inputs"),
            *(Column(title, min_width=len(title)) for title in titles),
            box=None,
            pad_edge=False,
            header_style="dim",
        )
        for row in datatype_rows.rows(function):
            table.add_row(cell(f"  {row.dtype}"), *map(cell, row.cells))
        print_table(console, table)
        console.print()
        for line in datatype_rows.stand_ins(function):
            console.print(Text(f"  {line}"), soft_wrap=True)
        for where, reason in datatype_rows.reasons(function):
            console.print(Text(f"  {where}: {_short(reason)}"), soft_wrap=True)
        for line in datatype_rows.computation_lines(function):
            console.print(Text(f"  {line}"), soft_wrap=True)
        console.print()
    console.print(Text(" ".join(LEGEND).replace("`", ""), style="dim"), soft_wrap=True)


def _short(reason: str) -> str:
    return reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}..."


def page(functions: TypedFunctions) -> str:
    """The page."""
    versions = ", ".join(f"{name} {version}" for name, version in functions.environments.items())
    lines = [
        "# Data types, measured",
        "",
        f"Made by `jaxport lookup datatypes --markdown`, on a CPU; {versions}.",
        "",
        *LEGEND,
    ]
    for function in functions.functions:
        lines += _section(function)
    return "\n".join(lines).rstrip() + "\n"


def _section(function: TypedFunction) -> list[str]:
    titles = ["inputs", *datatype_rows.columns(function)]
    cells = [[row.dtype, *row.cells] for row in datatype_rows.rows(function)]
    lines = ["", f"## {markdown.plain(function.name)}", "", markdown.plain(datatype_rows.inputs_line(function)), ""]
    lines += markdown.table(titles, [list(map(markdown.plain, row)) for row in cells], left_columns=len(titles))
    reason_lines = [
        f"- {markdown.plain(f'{where}: {_short(reason)}')}" for where, reason in datatype_rows.reasons(function)
    ]
    computation = [f"- {markdown.plain(line)}" for line in datatype_rows.computation_lines(function)]
    stand_in_lines = [f"- {markdown.plain(line)}" for line in datatype_rows.stand_ins(function)]
    if stand_in_lines:
        lines += ["What stands in for the reference:", "", *stand_in_lines, ""]
    if reason_lines:
        lines += ["What was refused, lost or not judged, or differs:", "", *reason_lines, ""]
    if computation:
        lines += ["What the optimized programs compute in:", "", *computation, ""]
    return lines[:-1]
