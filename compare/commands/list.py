"""`jaxport list`: the workloads."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from compare.commands._parser import Help
from compare.report import terminal
from compare.report.page_console import print_facts, print_rows
from compare.report.pages import Facts, Table, columns
from workloads.core import registry
from workloads.core.declared import AnyWorkload

HELP = Help(
    description="""\
List the workloads: what each computes, and the names of its sizes. With names, the dimensions of each size and the
source of the workload.
""",
    operands="[WORKLOAD ...]",
    examples="""\
  jaxport list
  jaxport list bert lstm
""",
    holds="the workloads were listed",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="tell all of these (default: a line of each)")


def main(options: argparse.Namespace) -> None:
    """Print a table of all, or all of some."""
    if options.workloads:
        for workload in _workloads(options.workloads).values():
            _print_whole(workload)
        return
    workloads = _workloads(registry.names())
    rows = [(name, workload.summary, ", ".join(workload.sizes)) for name, workload in workloads.items()]
    print_rows(Table(columns("workload", "computes", "sizes"), rows), terminal.console())


def _print_whole(workload: AnyWorkload) -> None:
    facts = {"computes": workload.summary, "source": workload.source} | {
        f"size {size}": ", ".join(f"{name}={value}" for name, value in dimensions.items()) or "no named dimension"
        for size, dimensions in workload.sizes.items()
    }
    print_facts(Facts(list(facts.items()), workload.name), terminal.console())


def _workloads(names: Sequence[str]) -> dict[str, AnyWorkload]:
    if not any(map(registry.is_foreign, names)):
        return {name: registry.get(name) for name in names}
    # Built-in workloads need none of this, which takes half a second to import.
    from compare.inputs import port_files
    from compare.inputs.foreign_code import foreign_code_apart

    with foreign_code_apart():
        return {name: port_files.get(name) for name in names}
