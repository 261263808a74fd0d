"""`jaxport explain profile`: where the time of a profile went that the user recorded."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from compare.commands import _arguments
from compare.commands._conclusion import Conclusion
from compare.commands._option_types import count
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.hlo.bindings import UnreadableProgram
from compare.plain_json import to_json, write_json
from compare.profiles.finding_profiles import find
from compare.profiles.programs import read_dump
from compare.profiles.reading import read_profile
from compare.record.profile_part import ReadProfile
from compare.record.vocabulary import FAIL, PASS
from compare.report import numbers, page_html, profile_page, terminal
from compare.report.page_console import print_page, print_section

DEFAULT_OUT = Path("jaxport-profile")

MOST_ROWS = 10

HELP = Help(
    description="""\
Read a profile that jax.profiler or tf.profiler recorded of your own program and say where its time went: every kernel
and operation with its time, by forward pass, backward pass and optimizer where that can be told, with its HLO
instruction and the source lines that it comes from; and between which kernels nothing ran. Writes a page and
profile.json.

PATH is a folder, of which the newest profile is read, or one file *.xplane.pb.
""",
    operands="PATH",
    examples="""\
  jaxport explain profile logs                          after jax.profiler.trace("logs"), or tf.profiler's start("logs")
  jaxport explain profile logs --line model.py:41       the way back: which kernels come from this line?
  jaxport explain profile logs --dump xla-dump          lines from a dump, where the profile holds no module
  jaxport explain profile logs --rows 40 --json
""",
    holds="the profile was read, and with --line a kernel comes from that line",
    fails="no kernel comes from the line that --line names",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("path", type=Path, metavar="PATH", help="folder or file of a profile")
    scope = command.add_argument_group("scope")
    scope.add_argument(
        "--line", type=_line, metavar="FILE:LINE", help="list only the kernels that come from this source line"
    )
    scope.add_argument(
        "--dump", type=Path, metavar="DIR",
        help="directory that --xla_dump_to named in the same run, for modules that the profile does not hold",
    )  # fmt: skip
    output = command.add_argument_group("output")
    output.add_argument(
        "--rows", type=count, default=MOST_ROWS, metavar="N", help=f"rows of each phase (default: {MOST_ROWS})"
    )
    _arguments.add_out_folder(output, DEFAULT_OUT)
    _arguments.add_json(output)


def main(options: argparse.Namespace) -> Conclusion | None:
    """Read, write, print; the verdict on --line.

    Raises:
      RequestError: there is no profile, or nowhere to write.
    """
    try:
        further = read_dump(options.dump) if options.dump else {}
    except UnreadableProgram as error:
        raise RequestError(str(error)) from error
    profile = read_profile(find(options.path), further)
    out = writable_folder(options.out)
    page = profile_page.page(profile, options.path.resolve().name, options.rows)
    path = page_html.write_page(page, out / "profile.html")
    write_json(out / "profile.json", to_json(profile))
    if options.json:
        terminal.print_json(profile)
        return conclude(profile, options.line) if options.line else None
    console = terminal.console()
    if options.line:
        print_section(profile_page.of_one_line(profile, options.line), console)
    else:
        print_page(page, console)
    terminal.say(path)
    return conclude(profile, options.line) if options.line else None


def conclude(profile: ReadProfile, line: str) -> Conclusion:
    """Whether a kernel comes from a source line."""
    kernels = profile_page.of_line(profile, line)
    if not kernels:
        return Conclusion(FAIL, f"no kernel comes from {line}")
    return Conclusion(PASS, f"{numbers.count_of(len(kernels), 'kernel')} from the line that was asked for")


def _line(text: str) -> str:
    if not re.fullmatch(r".+:[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"expected FILE:LINE such as model.py:41, found {text!r}")
    return text
