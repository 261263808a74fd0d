"""`jaxport`: reads the command line, runs a command, and turns every foreseen failure into one line."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import traceback
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from compare import versions
from compare.commands._completion import SHELLS, Printing, completion
from compare.commands._exit_codes import HOLDS, REFUSED
from compare.commands._names import (
    COMMANDS,
    QUESTIONS,
    TOP,
    Command,
    Group,
    full_words,
    module_of,
    name_change,
    nearest,
    spell,
)
from compare.commands._parser import DEFAULT_TIMEOUT_S, Help, Parser, add_debug
from compare.commands._signals import INTERRUPTED, interruptible
from compare.commands._streams import open_streams
from compare.commands._utf8_mode import ensure_utf8_paths
from compare.errors import FORESEEN, RequestError
from compare.sides import processes

if TYPE_CHECKING:
    from compare.commands._conclusion import Conclusion

_Entries: TypeAlias = "argparse._SubParsersAction[Parser]"

PACKAGES = ("jaxport", "tf_reference", "workloads")
"""Jaxport's own beside this one."""

_HEADINGS = {next(iter(entries)): question for question, entries in QUESTIONS.items()}
"""The question above each name that comes first below it."""


class _HelpByQuestion(argparse.RawDescriptionHelpFormatter):
    """A help that lists commands and groups below the question that they answer."""

    def _format_action(self, action: argparse.Action) -> str:
        heading = _HEADINGS.get(action.dest)
        text = super()._format_action(action)
        return f"\n  {heading}:\n{text}" if heading else text


class _HelpOfGroup(argparse.RawDescriptionHelpFormatter):
    """A help whose summaries stand in one column, however short the options are."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = self._max_help_position


_HELP = Help(
    description="""\
Test whether a JAX port of a TensorFlow model computes the same numbers, compare both XLA programs, and time them.
""",
    operands="COMMAND",
    examples="""\
  jaxport run                    run the tour of small built-in workloads; then open jaxport-report/report.html
  jaxport run my_port.py         test and time your own port
  jaxport run --help             show the options and examples of a command
  jaxport lookup --help          show the subcommands of a group
  jaxport --version
  jaxport --print-completion bash > ~/.local/share/bash-completion/completions/jaxport
""",
    holds="every verdict holds",
    fails="a verdict fails, or a side failed to deliver a result",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code, and the last line that it prints, say how its verdicts came out."""
    if arguments is None:
        ensure_utf8_paths()
    words = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    with interruptible(to_the_end=arguments is None):
        try:
            return _run(words)
        except ModuleNotFoundError as error:
            return _incomplete(error, "--debug" in words)


def _run(arguments: Sequence[str]) -> int:
    try:
        check_packages()
        if line := name_change(arguments):
            _complain(line)
        options = parse_options(arguments)
        with processes.temporary_folder(), _foreign_code_apart(options):
            return _print_end(_module(options.command).main(options), options)
    except KeyboardInterrupt as interrupt:
        print(f"jaxport: interrupted; {str(interrupt) or 'nothing was written'}", file=sys.stderr)
        return INTERRUPTED
    except FORESEEN as error:
        offer = nearest(arguments)
        return _refuse(error, "--debug" in arguments, f"{error}; did you mean `{offer}`?" if offer else None)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and _is_foreign(error):
            raise
        what = f"expected no internal error, found {type(error).__name__}: {error}: run with --debug and report it"
        return _refuse(error, "--debug" in arguments, what)


def _print_end(conclusion: Conclusion | None, options: argparse.Namespace) -> int:
    """Print the verdict of a command as its last line; the exit code."""
    if conclusion is None:
        return HOLDS
    # What judges nothing prints no verdict, and need not import what prints one.
    from compare.commands._conclusion import conclude

    return conclude(conclusion, quiet=getattr(options, "json", False))


def check_packages() -> None:
    """Refuse what would silently run another program's code, or find nothing.

    Raises:
      RequestError: one of the names is that of another package, which comes first on Python's path.
    """
    own = Path(__file__).resolve().parent.parent
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        places = [Path(place).resolve() for place in (spec and spec.submodule_search_locations) or ()]
        if places != [own / name]:
            other = places[0] if places else spec and spec.origin
            raise RequestError(
                f"expected jaxport's own package {name}, found {other}: "
                "take that folder off PYTHONPATH, or give the package another name"
            )


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line.

    Raises:
      RequestError: it is none; the line names the help of its own command, where argparse would name all of jaxport's.
    """
    words = full_words(arguments)
    options, unknown = parser([" ".join(words[:count]) for count in (1, 2)]).parse_known_args(words)
    if unknown:
        call = spell(options.command)
        raise RequestError(f"expected options of `{call}`, found {' '.join(unknown)}: see `{call} --help`")
    return options


def parser(commands: Collection[str]) -> argparse.ArgumentParser:
    """The parser of full names, with the options of some commands: to import every command takes seconds.

    Args:
      commands: full names of those whose options are wanted; what is no name is left out.
    """
    root = Parser(prog="jaxport", **_parser_arguments(_HELP))
    root.formatter_class = _HelpByQuestion
    root.add_argument(
        "--version", action=Printing, nargs=0, text=lambda _: versions.version_lines(),
        help="print the versions of jaxport and of both sides",
    )  # fmt: skip
    root.add_argument(
        "--print-completion", action=Printing, choices=SHELLS, text=_completion,
        help="print a script that completes commands, options and files in this shell",
    )  # fmt: skip
    entries = root.add_subparsers(
        title="commands", dest="command", required=True, metavar="COMMAND", prog=root.prog, parser_class=Parser
    )
    for name, entry in TOP.items():
        if isinstance(entry, Group):
            _add_group(entries, name, entry, commands)
        else:
            _add_command(entries, name, entry, commands)
    return root


def _add_group(entries: _Entries, name: str, group: Group, commands: Collection[str]) -> None:
    parser = entries.add_parser(
        name,
        help=f"{group.summary}: {', '.join(group.members)}",
        usage="%(prog)s [options] SUBCOMMAND ...",
        description=f"{group.summary[0].upper()}{group.summary[1:]}.",
        formatter_class=_HelpOfGroup,
        epilog=f"`jaxport {name} SUBCOMMAND --help` shows the options and examples of a subcommand.",
    )
    members = parser.add_subparsers(
        title="subcommands", required=True, metavar="SUBCOMMAND", prog=parser.prog, parser_class=Parser
    )
    for member, entry in group.members.items():
        beside = group if member == group.default else None
        _add_command(members, f"{name} {member}", entry, commands, beside)


def _add_command(
    entries: _Entries, command: str, entry: Command, commands: Collection[str], group: Group | None = None
) -> None:
    """Add a command to those of the top level or of a group.

    Args:
      group: the group of a default member; `--help` of the group shows the help of this member.
    """
    name = command.rpartition(" ")[2]
    if command not in commands:
        entries.add_parser(name, help=entry.summary)
        return
    module = _module(command)
    parser = entries.add_parser(name, help=entry.summary, prog=spell(command), **_parser_arguments(module.HELP))
    if group:
        parser.usage = f"{parser.usage}\n       %(prog)s SUBCOMMAND ..."
        _list_members(parser, group)
    module.add_arguments(parser)
    add_debug(parser)
    parser.set_defaults(command=command)


def _list_members(parser: argparse.ArgumentParser, group: Group) -> None:
    """List the members of a group in the help of its default one, which takes none of them as an operand."""
    section = parser.add_argument_group("subcommands")
    for member, entry in group.members.items():
        is_default = " (the default)" if member == group.default else ""
        # To add an argument would have the parser expect it.
        section._group_actions.append(argparse.Action([], member, metavar=member, help=f"{entry.summary}{is_default}"))


def _completion(shell: str) -> str:
    defaults = {name: entry.default for name, entry in TOP.items() if isinstance(entry, Group) and entry.default}
    return completion(parser([*COMMANDS]), shell, defaults)


def _parser_arguments(command_help: Help) -> dict[str, Any]:
    """How argparse is given a help."""
    return {
        "usage": f"%(prog)s [options] {command_help.operands}".rstrip(),
        "description": command_help.description,
        "epilog": command_help.epilog,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def _foreign_code_apart(options: argparse.Namespace) -> AbstractContextManager[None]:
    if not COMMANDS[options.command].foreign_code:
        return nullcontext()
    from compare.inputs.foreign_code import foreign_code_apart

    return foreign_code_apart(getattr(options, "timeout", DEFAULT_TIMEOUT_S))


def _module(command: str) -> ModuleType:
    return importlib.import_module(module_of(command))


def _is_foreign(error: ModuleNotFoundError) -> bool:
    return str(error.name).partition(".")[0] not in (*PACKAGES, "compare")


def _incomplete(error: ModuleNotFoundError, debug: bool) -> int:
    """Said without any package of others: jaxport was installed without what it needs, as for one side alone."""
    if debug:
        traceback.print_exception(error)
    line = (
        f"expected the module {error.name}, which jaxport needs, found none in {sys.prefix}: install jaxport with its "
        "dependencies, or, where TensorFlow cannot be had, run "
        "`jaxport list requirements jax | pip install -r /dev/stdin`"
    )
    _complain(line)
    return REFUSED


def _complain(line: str) -> None:
    """One line on standard error, by Python alone: what prints tables may not be installed."""
    with suppress(OSError):
        print(f"jaxport: {line}", file=sys.stderr, flush=True)


def _refuse(error: Exception, debug: bool, what: str | None = None) -> int:
    from compare.report import terminal

    if debug:
        terminal.explain("".join(traceback.format_exception(error)) + getattr(error, "details", ""))
    if isinstance(error, OSError) and error.strerror:
        what = (
            f"expected to read or write {error.filename or 'a file'}, found {error.strerror}: "
            "check the path and the free space"
        )
    terminal.complain(" ".join((what or str(error)).split()))
    return REFUSED
