"""Standard output and error, made fit to print any text before anything is printed; nothing but Python is needed."""

from __future__ import annotations

import io
import os
import sys


def open_streams() -> None:
    """Have output and errors take every text: what is closed takes all and keeps none, and ASCII takes escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # print() would take standard output in the place of a closed standard error.
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open as long as the program
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
