"""A signal at the edges of a command: while it is being imported, while it writes, and once all is written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest
from places import ROOT

from compare.commands import _signals


@pytest.fixture
def interruptible() -> Iterator[None]:
    # Whoever runs the tests in the background may have it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with _signals.interruptible(to_the_end=False):
        yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_who_interrupts_while_all_is_written_or_afterwards_is_not_told_that_nothing_was() -> None:
    try:
        with _signals.hold_signals():
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    except KeyboardInterrupt:
        pytest.fail("expected no interrupt, found one")


@pytest.mark.usefixtures("interruptible")
def test_what_could_not_be_written_can_be_interrupted() -> None:
    with suppress(OSError), _signals.hold_signals():
        raise OSError
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


IMPORTING = """
import signal, sys
from compare.starting import start

signal.signal({number}, signal.default_int_handler if {number} == signal.SIGINT else signal.SIG_DFL)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "compare.cli":
            signal.raise_signal({number})

sys.meta_path.insert(0, Interrupting())
sys.exit(start())
"""


@pytest.mark.process
@pytest.mark.parametrize("number", _signals.SIGNALS)
def test_a_command_that_is_interrupted_while_it_is_imported_says_one_line(number: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTING.format(number=int(number))], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (130, "jaxport: interrupted; nothing was written\n")


LOADING = """
import _imp, signal, sys
from compare.starting import start

signal.signal(signal.SIGINT, signal.default_int_handler)
seen = [0]

def calls(frame, event, argument):
    seen[0] += event == "call"
    if seen[0] == {call}:
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)

def watched(load, name):
    def loading(given, *more):
        if name(given) == "jaxlib.mlir._mlir_libs._mlir" and seen[0] < {call}:
            sys.setprofile(calls)
        try:
            return load(given, *more)
        finally:
            sys.setprofile(None)
    return loading

_imp.create_dynamic = watched(_imp.create_dynamic, lambda spec: spec.name)
_imp.exec_dynamic = watched(_imp.exec_dynamic, lambda module: module.__spec__.name)
sys.argv = ["jaxport", "explain", "profile", "nowhere"]
code = start()
sys.exit(code if seen[0] >= {call} else f"{{seen[0]}} calls")
"""


@pytest.mark.process
@pytest.mark.parametrize("call", [20, 90, 200])
def test_an_extension_module_is_loaded_to_its_end_before_a_command_is_interrupted(call: int) -> None:
    """Where the C++ of jaxlib's MLIR calls Python, an exception ended the process by SIGABRT or SIGSEGV."""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", LOADING.format(call=call)],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (130, "jaxport: interrupted; nothing was written\n")
