"""The last line of a command and its exit code, which say the same thing."""

from __future__ import annotations

from rich.text import Text

from compare.commands._exit_codes import FAILS, HOLDS
from compare.record.vocabulary import PASS
from compare.report import terminal
from compare.report.verdicts import LEFT, STYLES, WORDS

__all__ = ["LEFT", "code_of", "conclude"]


def code_of(verdict: str) -> int:
    """0 of what holds, else 1: a failure, what is not judged or incomplete, and places that are left to write."""
    return HOLDS if verdict == PASS else FAILS


def conclude(verdict: str, sentence: str, quiet: bool = False) -> int:
    """Print the verdict in one line, the last of a command; the exit code.

    Args:
      verdict: a word of a record, or LEFT.
      sentence: what it is a verdict on.
      quiet: whether nothing is printed, as where JSON was asked for.
    """
    if not quiet:
        line = Text.assemble((WORDS.get(verdict, verdict), STYLES.get(verdict, "")), f" {' '.join(sentence.split())}")
        terminal.console().print(line, soft_wrap=True)
    return code_of(verdict)
