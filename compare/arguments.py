"""The command line: what can be asked for, and the help that says so."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from compare.run.inputs import RequestError
from compare.sides._side import SIDES
from workloads._spec import SIZES

DEFAULT_OUT = Path("jaxport-report")

_RUN = """\
Prove ports: parity against a float64 oracle, both programs, and paired timing; write results.json and report.html.

Without a workload this is the tour: every built-in workload, functions at size default, models at size smoke.

examples:
  jaxport run                                        the tour
  jaxport run running_example mnist_mlp --size smoke
  jaxport run mnist_mlp --data ~/mnist.npz           on the real MNIST
  jaxport run --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128] --input n=i32[4]:0..10
  jaxport run my_port.py                             a port file: declares a Workload, weights included
  jaxport run my_port.py --tf-recorded tf.side       TensorFlow's half recorded on another machine

exit codes: 0 every verdict holds; 1 a verdict fails or a side was lost; 2 the request cannot be carried out
"""

_RECORD = """\
Write one side's outputs, programs and profiles to one file, to be replayed where its framework is not installed.

examples:
  jaxport record --side tf -o tf.side running_example
  jaxport record --side tf -o tf.side my_port.py
"""

_REPORT = """\
Render report.html and the console overview again from a results.json; nothing is measured.

examples:
  jaxport report
  jaxport report old-run/results.json -o old-run
"""

_LIST = """\
List every workload with what it computes, its sizes and where it comes from.

examples:
  jaxport list
"""

_ROOT = """\
Prove a port of a TensorFlow model to JAX: same numbers, same program, how fast.

examples:
  jaxport run                    the tour of all built-in workloads; then open jaxport-report/report.html
  jaxport run my_port.py         your own port
  jaxport COMMAND --help         more examples
"""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage.

        Raises:
          RequestError: always.
        """
        raise RequestError(f"{message}: see `{self.prog} --help`")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    root = Parser(prog="jaxport", description=_ROOT, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    _run(_command(commands, "run", "prove ports and write the report", _RUN))
    _record(_command(commands, "record", "write one side to a file", _RECORD))
    _report(_command(commands, "report", "render a report again", _REPORT))
    listing = _command(commands, "list", "list the workloads", _LIST)
    _common(listing)
    return root


def _command(commands: argparse._SubParsersAction, name: str, summary: str, text: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name, help=summary, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def _run(command: argparse.ArgumentParser) -> None:
    _what(command)
    command.add_argument(
        "-o", "--out", type=Path, default=DEFAULT_OUT, metavar="DIR", help="where to write (default: %(default)s)"
    )
    for side in SIDES:
        command.add_argument(
            f"--{side}-python", metavar="PATH", help=f"interpreter of the {side} worker (default: this one)"
        )
        command.add_argument(
            f"--{side}-recorded", type=Path, metavar="FILE", help=f"replay the {side} side from a file"
        )
    timing = command.add_argument_group("timing")
    timing.add_argument(
        "--pairs", type=_count, default=5, metavar="N", help="sets of fresh processes (default: %(default)s)"
    )
    timing.add_argument(
        "--budget", type=_seconds, default=2.5, metavar="S", help="seconds a workload and set (default: %(default)s)"
    )
    timing.add_argument("--no-timing", action="store_true", help="parity and programs only")
    timing.add_argument("--seed", type=int, default=0, help="of the order in which processes and modes take turns")
    command.add_argument("--json", action="store_true", help="print the record, and nothing else, on standard output")
    _common(command)


def _record(command: argparse.ArgumentParser) -> None:
    _what(command)
    command.add_argument("--side", choices=SIDES, required=True, help="which side")
    command.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the file to write")
    command.add_argument("--python", metavar="PATH", help="interpreter of the worker (default: this one)")
    _common(command)


def _report(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "record",
        nargs="?",
        type=Path,
        default=DEFAULT_OUT / "results.json",
        help="a results.json (default: %(default)s)",
    )
    command.add_argument("-o", "--out", type=Path, metavar="DIR", help="where to write (default: beside the record)")
    command.add_argument("--json", action="store_true", help="print the record instead")
    _common(command)


def _what(command: argparse.ArgumentParser) -> None:
    command.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names (see `jaxport list`) or port files")
    command.add_argument("--size", metavar="SIZE", help=f"{', '.join(SIZES)} (default: the tour's)")
    command.add_argument("--data", type=Path, metavar="PATH", help="examples to train on, such as an mnist.npz")
    port = command.add_argument_group("your own functions")
    port.add_argument("--tf", metavar="FILE.py:F", help="the TensorFlow function")
    port.add_argument("--jax", metavar="FILE.py:F", help="the JAX function")
    port.add_argument(
        "--input", action="append", default=[], metavar="NAME=TYPE[SHAPE]",
        help="an input, in the order of the arguments; `:LOW..HIGH` bounds its values (repeat for more)",
    )  # fmt: skip
    command.add_argument(
        "--timeout", type=_seconds, default=300, metavar="S", help="for one request to a side (default: %(default)s)"
    )


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--debug", action="store_true", help="show tracebacks")


def _checked(text: str, kind: Callable[[str], float], low: float, what: str) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = -1.0
    if value < low:
        raise argparse.ArgumentTypeError(f"expected {what}, found {text!r}")
    return value


def _count(text: str) -> int:
    return int(_checked(text, int, 1, "a whole number from 1"))


def _seconds(text: str) -> float:
    return _checked(text, float, 0.01, "a number of seconds above 0")
