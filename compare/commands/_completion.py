"""Completes commands, options and files in a shell; also the action of options that print something and exit."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

SHELLS = ("bash", "zsh", "tcsh")
FILES = {"DIR", "FILE", "FOLDER", "PATH", "PROGRAM", "PYTHON", "TARGET", "WORKLOAD"}
"""Names of operands and values that may be files."""


class Printing(argparse.Action):
    """An option that prints a text, which is made once it is asked for, and ends the program."""

    def __init__(self, *, text: Callable[[Any], str], **how: Any) -> None:
        super().__init__(**how)
        self._text = text

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Print, and exit with 0."""
        from compare.report import terminal  # needs what an incomplete installation may lack

        terminal.write(f"{self._text(values)}\n")
        parser.exit()


def completion(parser: argparse.ArgumentParser, shell: str, defaults: Mapping[str, str]) -> str:
    """A script for the shell.

    Args:
      defaults: by the name of a group, the member that runs where none is named.
    """
    import shtab  # takes a tenth of a second, which only this option has to wait for

    for action in _actions(parser):
        if action.choices is None and (action.type is Path or FILES & set(str(action.metavar).split("|"))):
            action.complete = shtab.FILE  # pyright: ignore[reportAttributeAccessIssue]
    for group, default in defaults.items():
        group_parser = _subparsers(parser)[group]
        for action in _subparsers(group_parser)[default]._get_optional_actions():
            if not set(action.option_strings) & set(group_parser._option_string_actions):
                group_parser._add_action(action)
    operands = "".join(
        _OPERANDS.get(shell, "").format(
            group=group, default=default, members=" ".join(_subparsers(_subparsers(parser)[group]))
        )
        for group, default in defaults.items()
    )
    return shtab.complete(parser, shell, preamble=operands)


_OPERANDS = {
    "bash": """\
_shtab_jaxport_{group}_pos_0_COMPGEN=$_shtab_jaxport_{group}_{default}_pos_0_COMPGEN
""",
    "zsh": """\
functions[_shtab_jaxport_{group}_member]=$functions[_shtab_jaxport_{group}]
_shtab_jaxport_{group}() {{
  if (( CURRENT > 2 )) && [[ " {members} " == *" $words[2] "* ]]; then
    _shtab_jaxport_{group}_member
    return
  fi
  (( CURRENT > 2 )) || _shtab_jaxport_{group}_commands
  _arguments -C -s $_shtab_jaxport_{group}_{default}_options
}}
""",
}
"""By shell, what completes the operands of a default member where no member is named: shtab knows only of members."""


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    yield from parser._actions
    for command in _subparsers(parser).values():
        yield from _actions(command)


def _subparsers(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    return {
        name: command
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, command in action.choices.items()
    }
