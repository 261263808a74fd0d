"""All output to standard output and error: no name or reason can control a terminal, or is read as markup."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from compare.plain_json import to_json
from compare.report.showable import one_line, printable
from compare.writing import writing

_NATURAL_WIDTH = 10_000
"""More than any table takes."""
_TEXT_WIDTH = 120


class PlainConsole(Console):
    """Rich without markup, emoji and highlighting: a text is one line, and no control code but Rich's own gets out."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, "emoji": False, **how})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of whatever is printed: tables, their cells and bars of progress all come through here."""
        for segment in super().render(_on_one_line(renderable), options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def print(self, *objects: Any, **how: Any) -> None:
        """See rich.console.Console.

        Raises:
          UnwrittenError: what it is printed to leads to a full disk.
        """
        with writing(self._where):
            super().print(*objects, **how)

    def end_capture(self) -> str:
        """The captured text; even then Rich writes something.

        Raises:
          UnwrittenError: as `print`.
        """
        with writing(self._where):
            return super().end_capture()

    @property
    def _where(self) -> Path:
        return Path("standard error" if self.stderr else "standard output")

    def on_broken_pipe(self) -> None:
        """Ignore a closed pipe: its reader has read enough, and Rich would end the program with a meaningless code."""
        self.quiet = True
        _silence(self.file)


def _on_one_line(renderable: RenderableType) -> RenderableType:
    if not isinstance(renderable, Text) or one_line(renderable.plain) == renderable.plain:
        return renderable
    flat = renderable.copy()
    flat.plain = one_line(renderable.plain)
    return flat


def text_of(show: Callable[[Console], None]) -> str:
    """The text that is printed to a console, as in a file."""
    lines = io.StringIO()
    # In a notebook, Rich would show each line in the cell, and a kernel's FORCE_COLOR would have it write colours.
    show(PlainConsole(file=lines, width=_TEXT_WIDTH, force_jupyter=False, force_terminal=False))
    return "\n".join(line.rstrip() for line in lines.getvalue().splitlines())


def cell(text: str) -> Text:
    """The text of a cell in a table, whose columns are measured before they are shown."""
    return Text(one_line(text))


def console(stderr: bool = False, width: int | None = None) -> Console:
    """The console of tables, sentences and progress."""
    return PlainConsole(stderr=stderr, width=width)


def print_table(console: Console, table: Table, narrow: Callable[[], Table] | None = None) -> None:
    """Print a table; at its full width where there is no terminal.

    A log or a pipe has no width: a table that is folded to 80 columns cannot be searched.

    Args:
      narrow: gives what is printed instead where a terminal has no room for it.
    """
    width = console.measure(table, options=console.options.update(max_width=_NATURAL_WIDTH)).maximum
    if console.is_terminal:
        console.print(narrow() if narrow is not None and width > console.width else table)
        return
    table.width = width
    lines = console.render_lines(table, console.options.update(width=width, max_width=width), pad=False)
    for line in lines:
        # Rich fills each row up to the width of the table.
        console.print(Text("".join(segment.text for segment in line).rstrip()), soft_wrap=True)


def write(text: str) -> None:
    """Write captured text to standard output; a closed pipe, as of `head`, is no error.

    Raises:
      UnwrittenError: it leads to a full disk.
    """
    with writing(Path("standard output")), contextlib.ExitStack() as on_loss:
        # Python would try to write it again at the end of the program, and change the exit code.
        on_loss.callback(_forget_output)
        with contextlib.suppress(BrokenPipeError):
            print(text, end="", flush=True)
            on_loss.pop_all()


def _forget_output() -> None:
    stream, sys.stdout = sys.stdout, io.StringIO()
    _silence(stream)


def _silence(stream: IO[str]) -> None:
    """Discard what a stream still holds, because Python flushes the standard streams at its end."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nothing:
        if stream in (sys.__stdout__, sys.__stderr__):
            os.dup2(nothing.fileno(), stream.fileno())


def say(*lines: object) -> None:
    """Each on a line of standard output."""
    write("".join(f"{one_line(str(line))}\n" for line in lines))


def complain(line: str) -> None:
    """Print one line of jaxport on standard error, unless that is closed."""
    with contextlib.suppress(OSError):
        print(f"jaxport: {one_line(line)}", file=sys.stderr, flush=True)


def explain(text: str) -> None:
    """Several lines on standard error: a traceback."""
    print(printable(text), file=sys.stderr)


def print_json(data: Any) -> None:
    """The data alone on standard output, as JSON for every parser: NaN and infinities are strings."""
    write(json.dumps(to_json(data), allow_nan=False) + "\n")


def print_answer(data: Any, as_json: bool, show: Callable[[Console], object], *paths: object) -> None:
    """Print what a command found: for programs as JSON; for a reader as it is shown, with the files that have it.

    Args:
      as_json: whether a program reads it.
      show: prints it to a console.
      paths: of files with more of it.
    """
    if as_json:
        print_json(data)
    else:
        show(console())
        say(*paths)
