"""`jaxport bench`: everything that time can tell, after parity."""

from __future__ import annotations

import argparse

from rich.console import Console

from compare.commands import _arguments
from compare.commands._output import deliver, writable_folder
from compare.run import run
from compare.run.progress import reporter
from compare.run.timing import Plan
from compare.sides.settings import available_processors

SUMMARY = "time ports thoroughly"
TEXT = """\
Prove ports, then time them thoroughly.

examples:
  jaxport bench running_example
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    _arguments.add_workloads(command)
    _arguments.add_out(command)
    _arguments.add_sides(command)


def main(options: argparse.Namespace) -> int:
    """Run, write, print."""
    out = writable_folder(options.out)
    plan = Plan(12, 24, budget_s=4, threads=available_processors())
    request = run.Request(
        workloads=_arguments.workloads(options),
        size=options.size,
        data=options.data,
        sources=_arguments.sources(options),
        timeout_s=options.timeout,
        plans=(plan,),
    )
    with reporter(Console(stderr=True), quiet=options.json) as progress:
        found = run.run(request, progress)
    return deliver(found, out, options.json)
