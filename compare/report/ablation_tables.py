"""An ablation on a console and as a page of Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from compare.record.ablation_part import Ablation
from compare.report import ablation_rows, markdown
from compare.report.terminal import cell, print_table

_STYLES = {"slower": "green", "faster": "bold yellow"}


def print_ablation(name: str, ablation: Ablation, console: Console) -> None:
    """Print one workload's.

    Args:
      name: the workload's.
      ablation: of its program.
      console: where to print.
    """
    console.print(Text(ablation_rows.headline(name, ablation), style="bold"), soft_wrap=True)
    table = Table(*(Column(title, overflow="fold") for title in ablation_rows.TITLES), box=None, pad_edge=False)
    for row in ablation_rows.rows(ablation):
        style = "red" if row.is_other else _STYLES.get(row.verdict)
        table.add_row(*map(cell, (row.name, *row.cells)), style=style)
    print_table(console, table)
    for sentence in ablation_rows.sentences(ablation):
        console.print(Text(sentence), soft_wrap=True)
    for outcome, names in ablation_rows.others(ablation):
        console.print(Text(f"{outcome}: {names}", style="dim"), soft_wrap=True)
    console.print()


def print_legend(console: Console) -> None:
    """Print what the columns are."""
    for line in ablation_rows.LEGEND:
        console.print(Text(line, style="dim"), soft_wrap=True)


def page(ablations: Mapping[str, Ablation]) -> str:
    """All workloads as a page of Markdown."""
    devices = ", ".join({str(ablation.environment.get("device", "")): None for ablation in ablations.values()})
    lines = ["# What each pass of XLA buys, measured", ""]
    lines += [f"Made by `jaxport tune ablate --markdown`, on {markdown.plain(devices)}.", ""]
    for legend in ablation_rows.LEGEND:
        lines += [legend, ""]
    for name, ablation in ablations.items():
        cells = [[markdown.plain(text) for text in (row.name, *row.cells)] for row in ablation_rows.rows(ablation)]
        lines += [f"## {markdown.plain(name)}", "", markdown.plain(ablation_rows.headline(name, ablation)), ""]
        lines += markdown.table(ablation_rows.TITLES, cells, left_columns=len(ablation_rows.TITLES))
        lines += [*(f"- {markdown.plain(sentence)}" for sentence in ablation_rows.sentences(ablation))]
        lines += [f"- {markdown.plain(f'{says}: {names}')}" for says, names in ablation_rows.others(ablation)]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"
