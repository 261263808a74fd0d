"""What a caller sees while a check goes on: a bar that is gone afterwards, however it ends; nothing in a script."""

from __future__ import annotations

import importlib
import io
import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import tensorflow as tf
from rich.console import Console

import jaxport
from compare.api import displays
from compare.progress import Bars, Silent

pytestmark = pytest.mark.usefixtures("programs_here")

INPUTS = {"x": "f32[2]"}


class ZMQInteractiveShell:
    """As a kernel's shell is called."""


class Notebook:
    """IPython in a kernel: what a cell shows, and who drew it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, shell: object) -> None:
        self.pages: list[str] = []
        self.threads: set[threading.Thread] = set()
        self.drawn_meanwhile: list[str] = []
        self.running = False
        importlib.import_module("jaxport._live_modules")  # Flax looks for IPython while it is imported
        ipython: Any = ModuleType("IPython")
        ipython.get_ipython = lambda: shell
        ipython.display = ModuleType("IPython.display")
        ipython.display.display = self.display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)

    def display(self, shown: Any, display_id: bool) -> Any:
        assert display_id
        self.update(shown)
        return SimpleNamespace(update=self.update)

    def update(self, shown: Any) -> None:
        self.pages.append(shown._repr_html_())
        self.threads.add(threading.current_thread())
        if self.running:
            self.drawn_meanwhile.append(self.pages[-1])

    def port(self, x: jax.Array) -> jax.Array:
        self.running = True
        try:
            return jnp.tanh(x)
        finally:
            self.running = False


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    return Notebook(monkeypatch, ZMQInteractiveShell())


def test_a_notebook_shows_a_bar_of_plain_html_which_is_gone_afterwards(notebook: Notebook) -> None:
    report = jaxport.check(tf.tanh, notebook.port, INPUTS, name="small")
    assert report.passed
    bars = [page for page in notebook.pages if page]
    assert len(bars) > 3 and all(page.startswith("<progress max=") for page in bars)
    assert any("small: parity" in page for page in bars) and not any("<script" in page for page in bars)
    assert notebook.pages[0] == notebook.pages[-1] == ""


def test_it_is_drawn_by_the_callers_thread_and_never_while_a_function_runs(notebook: Notebook) -> None:
    jaxport.check(tf.tanh, notebook.port, INPUTS)
    assert notebook.threads == {threading.current_thread()} and notebook.drawn_meanwhile == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, TypeError])
def test_it_is_gone_after_an_interrupt_and_an_error_too(notebook: Notebook, error: type[BaseException]) -> None:
    def port(x: jax.Array) -> jax.Array:
        raise error

    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else jaxport.RequestError):
        jaxport.check(tf.tanh, port, INPUTS)
    assert any(notebook.pages) and notebook.pages[-1] == ""


def test_what_it_says_is_escaped(notebook: Notebook) -> None:
    bar = displays.NotebookBar(notebook.display)
    with bar:
        bar.stage("<b>", 0)
        bar.step("&")
    assert notebook.pages[2].endswith("&lt;b&gt; &amp;") and 'max="1" value="1"' in notebook.pages[2]


def test_a_quiet_check_draws_nothing(notebook: Notebook) -> None:
    assert jaxport.check(tf.tanh, jnp.tanh, INPUTS, quiet=True).passed
    jaxport.testing.assert_ports_match(tf.tanh, jnp.tanh, INPUTS)
    assert notebook.pages == []


def test_a_script_that_is_not_interactive_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(displays.display(quiet=False), Silent)
    assert jaxport.check(tf.tanh, jnp.tanh, INPUTS).passed
    assert capsys.readouterr() == ("", "")


def test_the_shell_of_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    Notebook(monkeypatch, SimpleNamespace())
    assert isinstance(displays.display(quiet=False), Silent)


def test_a_terminal_shows_a_bar_and_has_its_cursor_again_afterwards() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    bar = displays.display(False, console)
    assert isinstance(bar, Bars)
    with bar:
        bar.stage("small: parity", 2)
        bar.step("tf/eager")
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "small: parity" in text and "tf/eager" in text
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l") and text.rstrip().endswith("\x1b[2K")
