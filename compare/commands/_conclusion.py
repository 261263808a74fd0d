"""The last line of a command and its exit code, both of which are made of one verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.text import Text

from compare.commands._exit_codes import FAILS, HOLDS
from compare.record.vocabulary import PASS
from compare.report import terminal
from compare.report.verdicts import LEFT, STYLES, WORDS

__all__ = ["LEFT", "Conclusion", "conclude", "list_names"]


@dataclass(frozen=True)
class Conclusion:
    """The result of a command's `main` that judged something; None if there was nothing to judge.

    Attributes:
      verdict: a word of a record, incomplete, or LEFT.
      sentence: what it is a verdict on.
    """

    verdict: str
    sentence: str

    @property
    def exit_code(self) -> int:
        """0 of what holds, else 1: a failure, what is not judged or incomplete, and places that are left to write."""
        return HOLDS if self.verdict == PASS else FAILS

    @property
    def line(self) -> Text:
        """The verdict in the words and the style of the console, then the sentence."""
        word = WORDS.get(self.verdict, self.verdict)
        return Text.assemble((word, STYLES.get(self.verdict, "")), f" {' '.join(self.sentence.split())}")


def conclude(conclusion: Conclusion, quiet: bool = False) -> int:
    """Print the conclusion, the last line of a command; the exit code.

    Args:
      quiet: whether nothing is printed, as where JSON was asked for.
    """
    if not quiet:
        terminal.console().print(conclusion.line, soft_wrap=True)
    return conclusion.exit_code


def list_names(names: Iterable[str], most: int = 3) -> str:
    """The first names, and how many there are besides."""
    distinct = list(dict.fromkeys(names))
    more = [f"{len(distinct) - most} more"] if len(distinct) > most else []
    return ", ".join([*distinct[:most], *more])
