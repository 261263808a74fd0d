"""`jaxport lookup ops`: the operations that TensorFlow registers, what compiles, and what each is in JAX."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from compare.commands import _arguments
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._parser import Help
from compare.counterparts import raw_operations
from compare.counterparts.raw_operations import RawTable
from compare.errors import RequestError
from compare.inputs.functions import model_inputs
from compare.operations import missing
from compare.operations.finding import Finder, Found
from compare.plain_json import to_json
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, PASS
from compare.report import operation_tables, terminal
from compare.report.page_console import print_rows

HELP = Help(
    description="""\
List the operations that TensorFlow registers: their kernels by device, whether XLA compiles them, the HLO that they
become, and what they are in JAX. Few matches are shown in full, more as a list; without a word, counts are shown.

The table is part of jaxport and starts nothing. --installed makes it from the TensorFlow that is installed, within a
minute. --missing lists what a model needs that XLA cannot compile here, or that has no counterpart: TARGET is the
folder of a SavedModel, a .keras or .h5 file, or FILE.py:NAME, as `jaxport doctor` takes them. FILE.py is run, by a
process of its own; of a SavedModel nothing is loaded or run.
""",
    operands="[WORD ...]",
    examples="""\
  jaxport lookup ops                         counts
  jaxport lookup ops MatMul tf.nn.softmax    operations in full, by name or by what they are in TensorFlow's API
  jaxport lookup ops segment --not-compilable
  jaxport lookup ops --all --json | jq '.operations | map(select(.xla == "refused"))'
  jaxport lookup ops --missing my_saved_model
  jaxport lookup ops --missing my_tf.py:f --input 'x=f32[B,128]'
""",
    holds="operations were listed; with --missing --strict, and the model lacks none",
    fails="with --missing --strict: the model has operations that do not compile, or have no counterpart",
)

_IN_FULL = 4
"""Matches up to which each is shown in full."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("words", nargs="*", metavar="WORD", help="part of the name of an operation, or of tf.NAME")
    which = command.add_argument_group("which operations")
    compiles = which.add_mutually_exclusive_group()
    compiles.add_argument("--compilable", action="store_true", help="those that XLA has a kernel of")
    compiles.add_argument("--not-compilable", action="store_true", help="those that it has none of")
    which.add_argument(
        "--all", action="store_true", help="also operations that tf.raw_ops lacks, and those of TensorFlow's own tests"
    )
    model = command.add_argument_group("of a model")
    model.add_argument("--missing", metavar="TARGET", help="what of a model does not compile, or has no counterpart")
    model.add_argument(
        "--input", action="append", default=[], metavar="NAME=TYPE[SHAPE]",
        help="with --missing FILE.py:NAME: an argument, such as x=f32[B,128]; a size that is a name is not fixed "
        "(repeat, in the order of the arguments)",
    )  # fmt: skip
    model.add_argument(
        "--strict", action="store_true", help="with --missing: exit with 1 if anything is missing, for CI"
    )
    source = command.add_argument_group("which TensorFlow")
    source.add_argument("--installed", action="store_true", help="the one that is installed, not the one of the table")
    source.add_argument(
        "--tf-python", metavar="PATH", help="Python interpreter that has TensorFlow (default: this one)"
    )
    _arguments.add_timeout(source)
    _arguments.add_json(command.add_argument_group("output"), "what was found")


def main(options: argparse.Namespace) -> Conclusion | None:
    """Look up, or read a model, and print; the verdict that --strict asks for.

    Raises:
      RequestError: options do not fit each other, a word matches nothing, or there is no such model.
    """
    _check(options)
    with ExitStack() as stack:
        table = _operation_table(options, stack) if options.installed else raw_operations.read()
        if options.missing:
            return _show_missing(options, table, stack)
    operations = _select(options, table)
    if options.json:
        terminal.print_json(_head(table) | {"operations": [_plain_operation(operation) for operation in operations]})
        return None
    console = terminal.console()
    if not (options.words or options.all or options.compilable or options.not_compilable):
        print_rows(operation_tables.count_table(table), console)
    elif len(operations) <= _IN_FULL:
        operation_tables.print_in_full(operations, console)
    else:
        print_rows(operation_tables.operation_table(operations), console)
    terminal.say(*_notes(table, options))
    return None


def _check(options: argparse.Namespace) -> None:
    if options.missing and (options.words or options.all or options.compilable or options.not_compilable):
        raise RequestError("expected --missing TARGET alone, found a choice of operations beside it: drop one of them")
    if options.strict and not options.missing:
        raise RequestError("expected --strict with --missing TARGET, found it without: drop it")
    if options.input and not (options.missing and ".py:" in options.missing):
        raise RequestError("expected --input with --missing FILE.py:NAME, found it without: drop it")


def _operation_table(options: argparse.Namespace, stack: ExitStack) -> RawTable:
    # Neither is needed for the table that is part of the package, and both take a while to import.
    from compare.operations.surveying import survey
    from compare.sides.operation_worker import OperationWorker
    from compare.sides.sources import check_interpreter

    check_interpreter(options.tf_python, "--tf-python")
    terminal.complain("reads the operations of TensorFlow and compiles calls of them, which takes about a minute")
    return survey(OperationWorker(options.tf_python, options.timeout, stack))


def _select(options: argparse.Namespace, table: RawTable) -> list[Found]:
    """The operations that are asked for. A word may be the name of one that is not public."""
    finder = Finder(table.operations)
    names = finder.matching(options.words)
    if not (options.all or options.words):
        names = [name for name in names if table.operations[name].public]
    if options.compilable or options.not_compilable:
        names = [name for name in names if table.operations[name].compilable == options.compilable]
    return [finder.find(name) for name in names]


def _head(table: RawTable) -> dict[str, Any]:
    return {"schema": SCHEMA, "versions": table.versions, "counts": table.counts}


def _plain_operation(operation: Found) -> dict[str, Any]:
    declared_row = operation.operation
    assert declared_row is not None
    return {
        "name": operation.name,
        **to_json(declared_row),
        "xla": declared_row.xla,
        "counterparts": {row.name: row.jax or None for row in operation.about},
        "of_version": operation.version,
        "gotchas": operation.gotchas,
    }


def _show_missing(options: argparse.Namespace, table: RawTable, stack: ExitStack) -> Conclusion | None:
    from compare.sides.model_worker import ModelWorker
    from compare.sides.sources import check_interpreter

    check_interpreter(options.tf_python, "--tf-python")
    worker = ModelWorker(options.tf_python, options.timeout, stack)
    inspection = worker.inspect(options.missing, model_inputs(options.input))
    if not inspection.operations:
        why = inspection.not_traced or "its graph is empty"
        raise RequestError(f"expected a model with operations in {options.missing}, found none: {why}")
    lacking = missing.missing(inspection.operations, table)
    conclusion = conclude(options.missing, [one.type for one in lacking]) if options.strict else None
    if options.json:
        counts = {"operations": len(inspection.operations), "types": len({node.type for node in inspection.operations})}
        terminal.print_json(_head(table) | {"target": options.missing, **counts, "missing": to_json(lacking)})
        return conclusion
    operation_tables.print_missing(lacking, inspection.operations, terminal.console())
    terminal.say(*_notes(table, options))
    return conclusion


def conclude(target: str, lacking: Sequence[str]) -> Conclusion:
    """The verdict on a model, by the types of operations that it lacks."""
    if lacking:
        return Conclusion(FAIL, f"{target} has what does not compile, or has no counterpart: {list_names(lacking)}")
    return Conclusion(PASS, f"all operations of {target} compile and have counterparts")


def _notes(table: RawTable, options: argparse.Namespace) -> Iterator[str]:
    """Notes on the version of TensorFlow that the table describes, and whether it is the installed one."""
    of = table.versions["tensorflow"]
    if options.installed:
        yield f"TensorFlow {of}, as it is installed"
        return
    here = _version_here()
    other = here != of and not options.tf_python
    hint = f"; TensorFlow {here} is installed: --installed reads that one" if other and here else ""
    yield f"TensorFlow {of}{hint}"


def _version_here() -> str:
    """The version of TensorFlow in this environment, which is not imported; "" without one."""
    for name in ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return ""
