"""The parser of every command, and its parts that are needed before a command is imported."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import NoReturn

from compare.errors import RequestError

DEFAULT_TIMEOUT_S = 300
"""Seconds that one request to a worker may take."""

_REFUSED = "the request cannot be carried out; one line says why"
_INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Help:
    """The help of a command besides its options.

    Attributes:
      description: what the command does, as a verb phrase, then what a newcomer has to know.
      operands: the positional arguments as the usage line shows them.
      examples: real command lines, each with a comment where it needs one.
      holds: what exit code 0 means.
      fails: what exit code 1 means; "" where the command never exits with it.
    """

    description: str
    operands: str
    examples: str
    holds: str
    fails: str = ""

    @property
    def epilog(self) -> str:
        """Examples and exit codes."""
        codes = {"0": self.holds, "1": self.fails, "2": _REFUSED, "130": _INTERRUPTED}
        code_lines = "".join(f"  {code:<4} {meaning}\n" for code, meaning in codes.items() if meaning)
        return f"examples:\n{self.examples}\nexit codes:\n{code_lines}"


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage.

        Raises:
          RequestError: always.
        """
        raise RequestError(f"{message}: see `{self.prog} --help`")


def add_debug(command: argparse.ArgumentParser) -> None:
    """Add --debug."""
    command.add_argument("--debug", action="store_true", help="print the traceback behind a one-line error")
