"""What several commands can be asked: workloads, sides, how to time; and the parser that says so."""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from compare.commands._parser import DEFAULT_TIMEOUT_S
from compare.errors import RequestError
from compare.inputs import functions, port_files
from compare.inputs.at_size import named_apart
from compare.inputs.request import Plan
from compare.report import tables
from compare.sides._side import SIDES
from compare.sides.pool import Source
from compare.sides.settings import available_processors
from workloads import _registry
from workloads._declared import AnyWorkload
from workloads._spec import SIZES, Workload

DEFAULT_OUT = Path("jaxport-report")
DEFAULT_HISTORY = Path(".jaxport/history")

ALL = "all"
"""Threads: as many as there are processors."""

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def add_workloads(command: argparse.ArgumentParser) -> None:
    """Names, port files or two functions, and the size and data to run them at."""
    command.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names (see `jaxport list`) or port files")
    command.add_argument("--size", metavar="SIZE", help=f"{', '.join(SIZES)} (default: the tour's)")
    command.add_argument("--data", type=Path, metavar="PATH", help="examples to train on, such as an mnist.npz")
    add_functions(command)
    add_timeout(command)


def add_timeout(command: argparse.ArgumentParser) -> None:
    """How long a worker may take."""
    command.add_argument(
        "--timeout", type=seconds, default=DEFAULT_TIMEOUT_S, metavar="S",
        help="for one request to a worker (default: %(default)s)",
    )  # fmt: skip


def add_functions(command: argparse.ArgumentParser) -> None:
    """Two functions in place of a workload."""
    port = command.add_argument_group("your own functions")
    port.add_argument("--tf", metavar="FILE.py:F", help="the TensorFlow function")
    port.add_argument("--jax", metavar="FILE.py:F", help="the JAX function")
    port.add_argument(
        "--input", action="append", default=[], metavar="NAME=TYPE[SHAPE]",
        help="an input, in the order of the arguments; `:LOW..HIGH` bounds its values; a name in the shape, as in "
        "x=f32[B,128], is a dimension that is judged at several sizes (repeat for more)",
    )  # fmt: skip
    port.add_argument(
        "--dimension", action="append", default=[], metavar="NAME=LOW..HIGH",
        help="which sizes a named dimension has (default: 1..200); `B=32` is the size that is timed (repeat for more)",
    )  # fmt: skip


def add_interpreters(command: argparse.ArgumentParser) -> None:
    """Which interpreter runs each side."""
    for side in SIDES:
        command.add_argument(
            f"--{side}-python", metavar="PATH", help=f"interpreter of the {side} worker (default: this one)"
        )


def add_sides(command: argparse.ArgumentParser) -> None:
    """Where each side comes from: an interpreter or a file."""
    add_interpreters(command)
    for side in SIDES:
        command.add_argument(
            f"--{side}-recorded", type=Path, metavar="FILE", help=f"replay the {side} side from a file"
        )


def add_modes(command: argparse._ActionsContainer) -> None:
    """Some modes instead of all."""
    command.add_argument(
        "--modes", nargs="+", default=(), metavar="MODE", choices=tables.MODES,
        help="judge and time these modes only, beside tf/eager and jax/jit: tf/graph, tf/jit, jax/donated, ...",
    )  # fmt: skip


def add_parity_size(command: argparse._ActionsContainer) -> None:
    """Parity at another size than times."""
    command.add_argument(
        "--parity-size", metavar="SIZE",
        help="judge parity at this size, and compile and time at the other: minutes less for a large model",
    )  # fmt: skip


def add_no_alignment(command: argparse._ActionsContainer) -> None:
    """Programs that are compiled and timed, and not held against each other."""
    command.add_argument(
        "--no-alignment", action="store_true",
        help="do not look where the two programs part: minutes less for a large model, and no reasons for its times",
    )  # fmt: skip


def add_out(command: argparse.ArgumentParser) -> None:
    """Where the record and the report go."""
    command.add_argument(
        "-o", "--out", type=Path, default=DEFAULT_OUT, metavar="DIR", help="where to write (default: %(default)s)"
    )
    command.add_argument("--json", action="store_true", help="print the record, and nothing else, on standard output")


def add_plan(command: argparse._ActionsContainer) -> None:
    """How often and how long to time."""
    command.add_argument(
        "--pairs", type=count, default=12, metavar="N",
        help="sets of fresh processes; below 5 no interval is given (default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--most-pairs", type=count, metavar="N",
        help="more are added up to this many while identical code does not come out close enough (default: twice)",
    )  # fmt: skip
    command.add_argument(
        "--precision", type=part, default=Plan.precision, metavar="P",
        help="half-width of the interval of identical code that is close enough (default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--budget", type=seconds, default=2.0, metavar="S", help="seconds a workload and set (default: %(default)s)"
    )
    command.add_argument("--seed", type=int, default=0, help="of the order in which processes and modes take turns")


def plan(options: argparse.Namespace, threads: int) -> Plan:
    """What `add_plan` was given, on so many threads.

    Raises:
      RequestError: fewer pairs at most than at least.
    """
    most = options.most_pairs or 2 * options.pairs
    if most < options.pairs:
        raise RequestError(f"expected --most-pairs from --pairs {options.pairs} on, found {most}: raise it")
    return Plan(options.pairs, most, options.precision, options.budget, threads, options.seed)


def add_save(command: argparse.ArgumentParser) -> None:
    """Whether the record is kept for later."""
    command.add_argument("--save", action="store_true", help="keep the record in the history as well")
    add_history(command)


def add_history(command: argparse.ArgumentParser) -> None:
    """Where saved runs are."""
    command.add_argument(
        "--history", type=Path, default=DEFAULT_HISTORY, metavar="DIR", help="saved runs (default: %(default)s)"
    )


def workloads(options: argparse.Namespace) -> list[AnyWorkload]:
    """The workloads that were asked for.

    Raises:
      RequestError, RegistryError: they cannot be had.
    """
    own = own_functions(options, options.workloads)
    if own is not None:
        return [own]
    unnamed = _registry.built_in() if options.size else _registry.TOUR
    chosen = port_files.get_each(list(dict.fromkeys(options.workloads) or unnamed))
    named_apart(chosen)
    if options.data and not any(workload.training and workload.training.takes_data for workload in chosen):
        names = ", ".join(workload.name for workload in chosen)
        raise RequestError(f"expected a workload that trains on a dataset beside --data, found {names}: drop --data")
    return chosen


def own_functions(options: argparse.Namespace, beside: Sequence[str]) -> Workload | None:
    """The workload that --tf, --jax and --input make; None where none of them is given.

    Raises:
      RequestError: only some of them are, workloads stand beside them, or they make none.
    """
    own = [option for option in (options.tf, options.jax) if option]
    if own and (len(own) < 2 or beside):
        raise RequestError("expected --tf and --jax together and no workload beside them: name both functions")
    for option in ("input", "dimension"):
        if getattr(options, option) and not own:
            raise RequestError(f"expected --tf and --jax with --{option}, found neither: name both functions")
    return functions.from_functions(options.tf, options.jax, options.input, options.dimension) if own else None


def sources(options: argparse.Namespace) -> dict[str, Source]:
    """Where each side comes from.

    Raises:
      RequestError: two places for one side, or an interpreter that is not there.
    """
    return {side: _source(options, side) for side in SIDES}


def check_interpreter(python: str | None, option: str) -> None:
    """Raise RequestError where there is nothing to run."""
    if python and shutil.which(python) is None:
        raise RequestError(f"expected a Python interpreter at {python}, found nothing to run: check {option}")


def _source(options: argparse.Namespace, side: str) -> Source:
    python, recorded = getattr(options, f"{side}_python"), getattr(options, f"{side}_recorded", None)
    if python and recorded:
        raise RequestError(f"expected --{side}-python or --{side}-recorded, found both: choose one")
    check_interpreter(python, f"--{side}-python")
    return Source(python, recorded)


def thread_counts(text: str) -> list[int]:
    """Numbers of threads, each once, none above the processors that there are.

    Raises:
      RequestError: something else.
    """
    available = available_processors()
    asked = [available if each == ALL else _thread_count(each) for each in text.split(",")]
    if max(asked) > available:
        raise RequestError(f"expected --threads up to the {available} processors here, found {max(asked)}: lower it")
    return list(dict.fromkeys(asked))


def _thread_count(text: str) -> int:
    try:
        return count(text)
    except argparse.ArgumentTypeError as error:
        raise RequestError(f"{error} in --threads: give numbers or `{ALL}`, separated by commas") from error


def count(text: str) -> int:
    """A whole number from 1."""
    return int(_checked(text, int, 1, "a whole number from 1"))


def seconds(text: str) -> float:
    """Seconds above 0."""
    return _checked(text, float, 0.01, "a number of seconds above 0")


def part(text: str) -> float:
    """A part of a whole: "0.03" or "3%"."""
    kind = (lambda given: float(given[:-1]) / 100) if text.endswith("%") else float
    return _checked(text, kind, 0.001, "a part such as 3% or 0.03")


def counts(text: str) -> tuple[int, ...]:
    """Whole numbers from 1, separated by commas."""
    return tuple(count(each) for each in text.split(","))


def memory(text: str) -> int:
    """Bytes: "2G", "512M", "100000"."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].upper() in set("KMGT") else (text, "")
    return int(_checked(number, float, 1, "bytes such as 512M or 2G") * _UNITS[unit])


def _checked(text: str, kind: Callable[[str], float], low: float, what: str) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not low <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected {what}, found {text!r}")
    return value
