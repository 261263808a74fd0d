"""`jaxport list`: the workloads."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Column, Table

from compare.commands._output import HOLDS
from compare.run import foreign
from workloads import _registry

SUMMARY = "list the workloads"
TEXT = """\
List every workload with what it computes, its sizes and where it comes from.

examples:
  jaxport list
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Nothing can be asked."""


def main(options: argparse.Namespace) -> int:
    """Print the table."""
    table = Table(Column("workload", no_wrap=True), "computes", "sizes", "source", box=None, pad_edge=False)
    for name in _registry.names():
        workload = foreign.get(name)
        sizes = "; ".join(
            f"{size} {', '.join(f'{key}={value}' for key, value in dimensions.items())}".strip()
            for size, dimensions in workload.sizes.items()
        )
        table.add_row(name, workload.summary, sizes, workload.source)
    Console().print(table)
    return HOLDS
