"""Prepares standard output and error for any text, before anything is printed, with Python alone."""

from __future__ import annotations

import io
import os
import sys


def open_streams() -> None:
    """Make both streams accept every text: a closed stream drops it, an ASCII stream escapes it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # If standard error is closed, print() would write to standard output.
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open as long as the program
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
