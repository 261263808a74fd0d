"""The root of every error that a user can put right."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

MOST_CHARACTERS = 300


class Foreseen(Exception):
    """Something was expected and not found: its text is one line that says both, and what to do."""


def message(error: BaseException) -> str:
    """The message of an error. Where the user's own class fails to give one, the message says so."""
    return str(traceback.TracebackException(type(error), error, None, lookup_lines=False))


def error_text(error: BaseException, path: Path | None = None) -> str:
    """The class of an error, the first line of what it says, and the line of a file that led to it.

    Args:
      path: of the file; None where there is none to name.
    """
    lines = message(error).splitlines() or [""]
    text = f"{type(error).__name__}: {lines[0].strip()}".removesuffix(": ")
    text = text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."
    place = path and os.path.realpath(path)
    frames = traceback.extract_tb(error.__traceback__)
    line_numbers = [frame.lineno for frame in frames if os.path.realpath(frame.filename) == place]
    return f"{text} (line {line_numbers[-1]})" if line_numbers else text
