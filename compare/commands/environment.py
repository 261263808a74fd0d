"""`jaxport list environment`: what a report of a problem needs to say of versions and the machine."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from compare.commands import _arguments
from compare.commands._interpreters import interpreters
from compare.commands._parser import Help
from compare.plain_json import to_json
from compare.record.envelope import SCHEMA, Environment
from compare.report import numbers, terminal
from compare.report.page_console import print_facts
from compare.report.pages import Facts
from compare.run import record_parts, surroundings
from compare.run.surroundings import Surroundings
from compare.sides.pool import Pool, Source

HELP = Help(
    description="""\
Print what a problem report needs: the versions of both sides, as the interpreters that run them report them, their
devices, the machine, and the environment variables that TensorFlow, JAX and XLA read. Nothing is computed. Other
variables are not printed, since they may hold secrets.
""",
    operands="",
    examples="""\
  jaxport list environment
  jaxport list environment --tf-python ~/tf/bin/python
  jaxport list environment --json
""",
    holds="everything is listed; a side that is missing says why",
)


_MOST_CHARACTERS = 200
"""The most characters of a variable's value that are shown; --json has all of it."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workers(command, with_recorded=False, device=False)
    _arguments.add_json(command.add_argument_group("output"), "what was found")


def main(options: argparse.Namespace) -> None:
    """Ask both sides, print."""
    sources = {side: Source(python) for side, python in interpreters(options).items()}
    with tempfile.TemporaryDirectory() as scratch, Pool(sources, Path(scratch), options.timeout) as pool:
        environment = record_parts.environment(pool.environments())
    around = surroundings.look()
    if options.json:
        terminal.print_json({"schema": SCHEMA, "environment": to_json(environment), "surroundings": to_json(around)})
        return
    print_facts(Facts([*_of_environment(environment), *_of_surroundings(around)]), terminal.console())


def _of_environment(environment: Environment) -> Iterator[tuple[str, str]]:
    yield "jaxport", environment.jaxport
    yield "Python", environment.python
    yield "platform", environment.platform
    yield "processor", f"{environment.cpu}, {environment.cores} cores for jaxport"
    for side, fields in environment.sides.items():
        yield side, ", ".join(f"{name} {value}" for name, value in fields.items() if value not in (None, ""))


def _of_surroundings(around: Surroundings) -> Iterator[tuple[str, str]]:
    yield "memory", numbers.binary_bytes(around.memory_bytes)
    yield "temporary files", f"{around.temporary_folder}, {numbers.binary_bytes(around.temporary_free_bytes)} free"
    yield "shared memory", f"{numbers.binary_bytes(around.shared_memory_free_bytes)} free"
    for gpu in around.gpus:
        yield "GPU", gpu
    yield "tools", ", ".join(f"{name} {'missing' if path is None else path}" for name, path in around.tools.items())
    for name, value in around.variables.items():
        yield name, value if len(value) <= _MOST_CHARACTERS else f"{value[:_MOST_CHARACTERS]}..."
