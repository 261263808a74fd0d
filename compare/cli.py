"""`jaxport`: reads the command line, runs a command, and turns every foreseen failure into one line."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence

from compare import records
from compare.commands import (
    bench,
    bugreport,
    calibrate,
    compare,
    dump,
    history,
    hlo,
    listing,
    locate,
    record,
    replay,
    report,
    results,
    run,
    tune,
)
from compare.commands._arguments import DEFAULT_TIMEOUT_S, Parser, add_debug
from compare.commands._output import REFUSED
from compare.commands._signals import INTERRUPTED, interruptible
from compare.hlo.bindings import BindingsMoved, UnreadableProgram
from compare.report import terminal
from compare.run.apart import foreign_code_apart
from compare.run.inputs import RequestError
from compare.sides import processes
from compare.sides._side import SideError
from compare.sides.recorded import RecordedSideError
from compare.writing import UnwrittenError
from workloads import _registry
from workloads._digits import DataError

COMMANDS = {
    "run": run,
    "bench": bench,
    "tune": tune,
    "calibrate": calibrate,
    "hlo": hlo,
    "locate": locate,
    "dump": dump,
    "bugreport": bugreport,
    "replay": replay,
    "compare": compare,
    "history": history,
    "record": record,
    "report": report,
    "results": results,
    "list": listing,
}

FORESEEN = (
    RequestError,
    _registry.RegistryError,
    DataError,
    records.RecordError,
    RecordedSideError,
    SideError,
    BindingsMoved,
    UnreadableProgram,
    UnwrittenError,
    OSError,
)

_TEXT = """\
Prove a port of a TensorFlow model to JAX: same numbers, same program, how fast.

examples:
  jaxport run                    the tour of the small built-in workloads; then open jaxport-report/report.html
  jaxport run my_port.py         your own port
  jaxport COMMAND --help         more examples
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how its verdicts came out."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with interruptible(to_the_end=arguments is None):
        return _run(given)


def _run(given: Sequence[str]) -> int:
    try:
        options = parser().parse_args(given)
        with processes.temporary_folder(), foreign_code_apart(getattr(options, "timeout", DEFAULT_TIMEOUT_S)):
            return COMMANDS[options.command].main(options)
    except KeyboardInterrupt:
        print("jaxport: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except FORESEEN as error:
        return _refuse(error, "--debug" in given)
    except Exception as error:  # noqa: BLE001 - the last line of defence: --debug shows the traceback
        what = f"expected no {type(error).__name__} here, found one: {error}: run with --debug and report it"
        return _refuse(error, "--debug" in given, what)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    root = Parser(prog="jaxport", description=_TEXT, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.TEXT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        add_debug(command)
    return root


def _refuse(error: Exception, debug: bool, what: str | None = None) -> int:
    if debug:
        terminal.explain("".join(traceback.format_exception(error)) + getattr(error, "details", ""))
    if isinstance(error, OSError) and error.strerror:
        what = f"expected to use {error.filename or 'a file'}, found {error.strerror}: check paths and space"
    terminal.complain(" ".join((what or str(error)).split()))
    return REFUSED
