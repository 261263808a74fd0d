"""What completes commands, options and files in a shell, and the kind of option that prints something and ends."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

SHELLS = ("bash", "zsh", "tcsh")
FILES = {"DIR", "FILE", "FOLDER", "PATH", "PROGRAM", "PYTHON", "TARGET", "WORKLOAD"}
"""What operands and values are called that may be files."""


class Printing(argparse.Action):
    """An option that prints a text, which is made once it is asked for, and ends the program.

    Args:
      text: of the option's value.
      how: as argparse's own actions are given it.
    """

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


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """A script for the shell.

    Args:
      parser: with the options of every command.
      shell: one of `SHELLS`.
    """
    import shtab  # takes a tenth of a second, which only this option has to wait for

    for action in _actions(parser):
        if action.choices is None and (action.type is Path or str(action.metavar) in FILES):
            action.complete = shtab.FILE  # pyright: ignore[reportAttributeAccessIssue]
    return shtab.complete(parser, shell)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
