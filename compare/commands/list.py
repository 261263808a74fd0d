"""`jaxport list`: the workloads."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.table import Column, Table

from compare.commands._exit_codes import HOLDS
from compare.commands._parser import Help
from compare.report import terminal
from workloads import _registry
from workloads._declared import AnyWorkload

HELP = Help(
    description="""\
List the workloads: what each computes, its sizes and its source.
""",
    operands="",
    examples="""\
  jaxport list
""",
    holds="the workloads were listed",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def main(options: argparse.Namespace) -> int:
    """Print the table; the exit code."""
    table = Table(Column("workload", no_wrap=True), "computes", "sizes", "source", box=None, pad_edge=False)
    for name, workload in _workloads(_registry.names()).items():
        sizes = "; ".join(
            f"{size} {', '.join(f'{key}={value}' for key, value in dimensions.items())}".strip()
            for size, dimensions in workload.sizes.items()
        )
        table.add_row(*map(terminal.cell, (name, workload.summary, sizes, workload.source)))
    terminal.print_table(terminal.console(), table)
    return HOLDS


def _workloads(names: Sequence[str]) -> dict[str, AnyWorkload]:
    if not any(map(_registry.is_foreign, names)):
        return {name: _registry.get(name) for name in names}
    # Built-in workloads need none of this, which takes half a second to import.
    from compare.inputs import port_files
    from compare.inputs.foreign_code import foreign_code_apart

    with foreign_code_apart():
        return {name: port_files.get(name) for name in names}
