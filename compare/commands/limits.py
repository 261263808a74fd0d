"""`jaxport lookup limits`: what documents state of compiling by XLA, and what is seen of it today."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence

from compare.commands import _arguments
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._interpreters import interpreters
from compare.commands._output import writable_file
from compare.commands._parser import DEFAULT_TIMEOUT_S, Help
from compare.errors import RequestError
from compare.limits.naming_limits import all_limits, choose
from compare.limits.trying_limits import Trying, try_each
from compare.progress import reporter
from compare.record.envelope import SCHEMA
from compare.record.limit_part import Limit, TriedLimits
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import terminal
from compare.report.limit_tables import page, print_limits, print_list
from compare.sides._side import SIDES
from compare.writing import write_atomically

HELP = Help(
    description="""\
List what XLA's documents say of TensorFlow functions, or test it: each function runs eagerly, with autoclustering and
with jit_compile=True, beside what one would write first in JAX and the right port. Shown are the document's statement,
in other words, and what happens today: the same results as TensorFlow eager, other results, or the error with its line.

A NAME is that of a limit or of a theme, such as known_issues. Streams of calls, which `jaxport compilation
recompiles` explains, and pairs of functions for autoclustering, which `jaxport compilation clusters` does, are limits
too.
""",
    operands="[NAME ...]",
    examples="""\
  jaxport lookup limits                      all of them, nothing run
  jaxport lookup limits unique               tf.unique: what is stated, and what is seen
  jaxport lookup limits known_issues         a theme
  jaxport lookup limits known_issues --json | jq '.limits[] | {name, agrees}'
  jaxport lookup limits --run -o limits.md   everything, as a Markdown table
""",
    holds="limits were listed, or each had its known outcome, whether or not its document agrees",
    fails="a limit had another outcome, or a worker was lost",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "names", nargs="*", metavar="NAME", help="a limit or a theme, which is run (default: list all)"
    )
    command.add_argument("--run", action="store_true", help="without a name: run all of them, some three minutes")
    _arguments.add_workers(command, with_recorded=False, device=False)
    output = command.add_argument_group("output")
    _arguments.add_out_file(output, "what was seen as a Markdown page")
    _arguments.add_json(output)


def main(options: argparse.Namespace) -> Conclusion | None:
    """List or run, print; the verdict on what was run.

    Raises:
      RequestError: there is no such limit, or a page of what is not run was asked for.
    """
    record = TriedLimits(SCHEMA, tuple(choose(options.names, all_limits())))
    run = bool(options.run or options.names)
    if options.out is not None:
        if not run:
            raise RequestError("expected a NAME or --run with --out, found neither: a list has nothing that was seen")
        writable_file(options.out)
    pythons = interpreters(options)
    if run:
        record = _run(record.limits, pythons, options)
    show = print_limits if run else print_list
    terminal.print_answer(record, options.json, lambda console: show(record.limits, console))
    if options.out is not None:
        write_atomically(options.out, page(record, _command(options)))
    return conclude(record.limits) if run else None


def conclude(limits: Sequence[Limit]) -> Conclusion:
    """The verdict on limits that were run; of one without a known outcome there is none."""
    other = [limit.name for limit in limits if limit.unexpected]
    if other:
        return Conclusion(FAIL, f"{len(other)} of {len(limits)} came out otherwise than known: {list_names(other)}")
    names = [limit.name for limit in limits if limit.expected]
    if not names:
        return Conclusion(NOT_JUDGED, f"no outcome is known of {list_names(limit.name for limit in limits)}")
    return Conclusion(PASS, f"{len(names)} of {len(limits)} came out as known")


def _run(limits: Sequence[Limit], pythons: Mapping[str, str | None], options: argparse.Namespace) -> TriedLimits:
    with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
        return try_each(limits, Trying(pythons, options.timeout, progress))


def _command(options: argparse.Namespace) -> str:
    """The command line, without paths of this machine."""
    words = ["jaxport", "lookup", "limits", *(options.names or ["--run"])]
    for side in SIDES:
        words += [f"--{side}-python", "PATH"] if getattr(options, f"{side}_python") else []
    words += ["--timeout", f"{options.timeout:g}"] if options.timeout != DEFAULT_TIMEOUT_S else []
    within = not options.out.is_absolute() and ".." not in options.out.parts
    return shlex.join([*words, "-o", str(options.out) if within else options.out.name])
