"""While a check goes on, a caller sees: in a terminal or a notebook a bar, which is gone afterwards; else nothing."""

from __future__ import annotations

import html
import importlib
import sys
import time
from functools import partial
from types import TracebackType
from typing import Any

from rich.console import Console

from compare.progress import Bars, Position, Reporter, Silent, Steps
from compare.report import terminal
from compare.sides.callers_thread import CallersThread

_NOTEBOOK = "ZMQInteractiveShell"
"""The class of IPython's shell where a kernel runs it; a terminal has another."""


def display(quiet: bool, console: Console | None = None) -> Reporter:
    """The reporter that fits where the caller is; it draws inside `with`.

    Args:
      quiet: draw nothing.
      console: in place of the standard error.
    """
    if quiet:
        return Silent()
    if (notebook := _display_of_notebook()) is not None:
        return NotebookBar(notebook)
    shown_on = console or terminal.console(stderr=True)
    # Without a thread of its own: it would draw over the prompt of a debugger.
    return Bars(shown_on, auto_refresh=False, **_LEAVING_NOTHING) if shown_on.is_terminal else Silent()


_LEAVING_NOTHING = {"transient": True, "redirect_stdout": False, "redirect_stderr": False}


def _display_of_notebook() -> Any:
    """IPython's `display`; None where no notebook is shown."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ != _NOTEBOOK:
        return None
    return importlib.import_module("IPython.display").display


class NotebookBar(Reporter):
    """A bar as HTML, in the output of a cell.

    Args:
      show: IPython's `display`.
    """

    def __init__(self, show: Any) -> None:
        self._show, self._handle = show, None
        self._stage, self._position = "", Position(1, time.monotonic())

    def __enter__(self) -> NotebookBar:
        self._handle = self._show(_Html(""), display_id=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._draw("")

    def stage(self, text: str, steps: Steps) -> None:
        """Start a bar."""
        self._stage, self._position = text, Position(steps, time.monotonic())
        self._draw(self._page(""))

    def step(self, text: str) -> None:
        """Advance it."""
        self._position.begin_step(text, time.monotonic())
        self.detail(text)

    def detail(self, text: str) -> None:
        """Show it beside the bar."""
        self._draw(self._page(text))

    def result(self, text: str) -> None:
        """Nothing: the report says it."""

    def _page(self, text: str) -> str:
        text_shown = html.escape(f"{self._stage} {text}".strip())
        count = max(self._position.count, 1)
        return f'<progress max="{count}" value="{self._position.number}"></progress> {text_shown}'

    def _draw(self, page: str) -> None:
        if self._handle is not None:
            self._handle.update(_Html(page))


class _Html:
    """A piece of HTML that IPython shows."""

    def __init__(self, page: str) -> None:
        self._page = page

    def _repr_html_(self) -> str:
        return self._page

    def __repr__(self) -> str:
        return ""


class InCallersThread(Reporter):
    """Draws in the thread that runs the caller's functions, and so never while one of them runs, or stops.

    Args:
      shown: what draws.
      thread: the caller's.
    """

    def __init__(self, reporter: Reporter, thread: CallersThread) -> None:
        self._shown, self._thread = reporter, thread

    def stage(self, text: str, steps: Steps) -> None:
        """A new stage begins."""
        self._thread.run(partial(self._shown.stage, text, steps))

    def step(self, text: str) -> None:
        """One step of the stage begins."""
        self._thread.run(partial(self._shown.step, text))

    def detail(self, text: str) -> None:
        """How far the step at hand is."""
        self._thread.run(partial(self._shown.detail, text))

    def result(self, text: str) -> None:
        """Something is known that a reader waits for."""
        self._thread.run(partial(self._shown.result, text))
