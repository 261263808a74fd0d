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
        for line in datatype_rows.computed(function):
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
        f"Made by `jaxport datatypes --markdown`, on a CPU; {versions}.",
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
    lines += markdown.table(titles, [list(map(markdown.plain, row)) for row in cells], left=len(titles))
    said = [f"- {markdown.plain(f'{where}: {_short(reason)}')}" for where, reason in datatype_rows.reasons(function)]
    made = [f"- {markdown.plain(line)}" for line in datatype_rows.computed(function)]
    stood = [f"- {markdown.plain(line)}" for line in datatype_rows.stand_ins(function)]
    if stood:
        lines += ["What stands in for the reference:", "", *stood, ""]
    if said:
        lines += ["What was refused, lost or not judged, or differs:", "", *said, ""]
    if made:
        lines += ["What the optimized programs compute in:", "", *made, ""]
    return lines[:-1]
