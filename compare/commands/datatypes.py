"""`jaxport lookup datatypes`: which mode of either framework takes which data type, with what result."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compare.commands import _arguments, _asked
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._interpreters import interpreters
from compare.commands._output import writable_file
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.inputs import port_files
from compare.inputs.at_size import Prepared
from compare.inputs.functions import DTYPES
from compare.inputs.port_files import prepare_one
from compare.inputs.sizes import choose_size
from compare.progress import reporter
from compare.prove import in_each_type
from compare.prove.in_each_type import Asking
from compare.record.datatypes_part import LOST, TypedFunction, TypedFunctions
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import datatype_page, markdown, terminal
from compare.report.page_console import print_page
from compare.report.verdicts import INCOMPLETE
from compare.sides import requests
from compare.writing import write_atomically
from workloads.core import registry
from workloads.core.declared import AnyWorkload

ALL = tuple(dict.fromkeys(DTYPES.values()))
"""Every type that --input takes."""

HELP = Help(
    description="""\
Run a function with its inputs cast to every data type, in every mode of TensorFlow and JAX: which mode takes the type,
which refuses it and in what words, where a result silently has another type, and how far each is from the same function
in float64 (integers and booleans must be equal). Of narrow floats, say whether XLA computes in them or emulates them.

Floats among the inputs are cast; all inputs are where there are none. JAX is run with 64 bits where a type has as many,
and also as it is by default. Workloads with weights choose their types themselves and are refused.
""",
    operands="[WORKLOAD ...]",
    examples="""\
  jaxport lookup datatypes                              the small functions among the workloads, every type
  jaxport lookup datatypes running_example --types bf16 f16
  jaxport lookup datatypes my_port.py --types bf16 --json
  jaxport lookup datatypes --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128] --markdown types.md
""",
    holds="every mode that takes a type gives the same numbers, in the same type",
    fails="a mode gives other numbers or another type, a worker is lost, or no mode of the port could be judged; "
    "what refuses a type does not count, nor does JAX without x64",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD",
        help="functions by name, or port files (default: those of the tour that have no weights)",
    )  # fmt: skip
    own = command.add_argument_group("your own functions")
    own.add_argument("--tf", metavar="FILE.py:NAME", help="the TensorFlow function")
    own.add_argument("--jax", metavar="FILE.py:NAME", help="the JAX function")
    _arguments.add_inputs(own)
    scope = command.add_argument_group("scope")
    scope.add_argument(
        "--types", nargs="+", metavar="TYPE", type=_dtype, default=ALL,
        help=f"the types to try, of {', '.join(DTYPES)} (default: all)",
    )  # fmt: skip
    _arguments.add_size(scope)
    _arguments.add_workers(command, with_recorded=False, device=False)
    output = command.add_argument_group("output")
    output.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as a Markdown page")
    _arguments.add_json(output)


def _dtype(text: str) -> str:
    if text not in DTYPES:
        raise argparse.ArgumentTypeError(f"expected a type of {', '.join(DTYPES)}, found {text!r}")
    return DTYPES[text]


def main(options: argparse.Namespace) -> Conclusion:
    """Run every function in every type, print; the verdict.

    Raises:
      RequestError: a workload has weights or does not run as it is, or there is no such workload.
    """
    pythons = interpreters(options)
    if options.markdown is not None:
        writable_file(options.markdown)
    workloads = _functions(options)
    dtypes = list(dict.fromkeys(options.types))
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        instances = [_prepare(workload, options.size, scratch) for workload in workloads]
        workers = stack.enter_context(in_each_type.workers(pythons, options.timeout, scratch))
        asking = Asking(workers, scratch, progress)
        functions = tuple(in_each_type.survey(ready, dtypes, asking) for ready in instances)
        record = TypedFunctions(SCHEMA, functions, requests.versions(workers))
    terminal.print_answer(record, options.json, lambda console: print_page(datatype_page.page(record), console))
    if options.markdown is not None:
        write_atomically(options.markdown, markdown.render(datatype_page.page(record)))
    missing = list(in_each_type.without_verdict(functions))
    if missing:
        terminal.complain(f"expected a verdict on each function, found none in any type on {', '.join(missing)}")
    return conclude(functions)


def conclude(functions: Sequence[TypedFunction]) -> Conclusion:
    """The verdict on all functions: what differs, then what could not be judged."""
    differing = list(in_each_type.differing(functions))
    wrong = [f"{name} in {dtype}, {mode.title}" for name, dtype, mode in differing if mode.status != LOST]
    if wrong:
        return Conclusion(FAIL, f"other numbers or another type: {list_names(wrong)}")
    crashes = [f"{name} in {dtype}, {mode.title}" for name, dtype, mode in differing]
    if crashes:
        return Conclusion(INCOMPLETE, f"a worker was lost: {list_names(crashes)}")
    missing = list(in_each_type.without_verdict(functions))
    if missing or not functions:
        return Conclusion(NOT_JUDGED, f"no mode of the port could be judged in any type: {list_names(missing)}")
    return Conclusion(
        PASS, f"every mode that takes a type gives the same numbers: {list_names(one.name for one in functions)}"
    )


def _functions(options: argparse.Namespace) -> Sequence[AnyWorkload]:
    own = _asked.own_functions(options, options.workloads)
    if own is not None:
        return [own]
    if options.workloads:
        return port_files.get_each(list(dict.fromkeys(options.workloads)))
    tour = port_files.get_each(list(registry.TOUR))
    return [workload for workload in tour if not workload.training]


def _prepare(workload: AnyWorkload, size: str | None, scratch: Path) -> Prepared:
    folder = scratch / f"as-written-{workload.name}"
    if folder.exists():
        raise RequestError(f"expected workloads of different names, found {workload.name!r} twice: rename one")
    folder.mkdir()
    small = "smoke" if size is None and "smoke" in workload.sizes else size
    return prepare_one(workload, choose_size(workload, small), None, folder)
