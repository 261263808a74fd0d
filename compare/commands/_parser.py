"""The parser of every command, with what it needs before a command is imported."""

from __future__ import annotations

import argparse
from typing import NoReturn

from compare.errors import RequestError

DEFAULT_TIMEOUT_S = 300
"""Of one request to a worker."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage.

        Raises:
          RequestError: always.
        """
        raise RequestError(f"{message}: see `{self.prog} --help`")


def add_debug(command: argparse.ArgumentParser) -> None:
    """Tracebacks."""
    command.add_argument("--debug", action="store_true", help="show tracebacks")
