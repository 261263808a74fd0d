"""Ctrl-C, SIGTERM and SIGHUP: the first interrupts the command, further ones see to it that it ends."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from compare import interrupting
from compare.interrupting import INTERRUPTED as INTERRUPTED
from compare.interrupting import SIGNALS as SIGNALS
from compare.sides import processes

PATIENCE_S = 10.0
"""The seconds that a command has for writing its results after a second interrupt; a third one ends it at once."""


class _Interrupts:
    """Turns the first signal into KeyboardInterrupt, once: one raised while workers are let go would leave some.

    A thread learns of every signal when it arrives, also while the main thread computes natively and sees none.
    """

    def __init__(self) -> None:
        self._raised = self._writing = False
        self._ours, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._before = {number: signal.getsignal(number) for number in SIGNALS}
        self._alarm = signal.getsignal(signal.SIGALRM)
        self._deferred = False

    def install(self) -> None:
        for number, handler in self._before.items():
            # Ignored signals stay ignored: nohup, and jobs in the background.
            if handler not in (signal.SIG_IGN, None):
                signal.signal(number, self._interrupt)
        self._wakeup = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """The exit code stands."""
        self._raised = True

    def restore(self) -> None:
        for number, handler in self._before.items():
            if handler not in (signal.SIG_IGN, None):
                signal.signal(number, handler)
        if self._deferred:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._alarm)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._wake)
        self._thread.join()
        os.close(self._ours)

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        self._writing = True
        try:
            yield
            # All is done: an interrupt would now print that nothing was written.
            self._raised = True
        finally:
            self._writing = False

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _let_go_of_the_terminal()
        if self._raised or self._writing:
            return
        if interrupting.is_loading(frame):
            self._deferred = True
            interrupting.ask_again(self._interrupt)
            return
        self._raised = True
        raise KeyboardInterrupt

    def _watch(self) -> None:
        if not self._next():
            return
        # No thread waits for a worker any more.
        processes.end()
        if not self._next():
            return
        readable, _, _ = select.select([self._ours], [], [], PATIENCE_S)
        if not readable or self._next():
            _leave()

    def _next(self) -> bool:
        """Whether another signal of ours arrived; False where the command came to its end."""
        while byte := os.read(self._ours, 1):
            if byte[0] in SIGNALS:
                return True
        return False


_handlers: list[_Interrupts] = []


@contextlib.contextmanager
def interruptible(to_the_end: bool) -> Iterator[None]:
    """Raise KeyboardInterrupt at the first signal in the block; with `to_the_end`, until the process ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    processes.begin()
    others = processes.folders()
    interrupts = _Interrupts()
    _handlers.append(interrupts)
    interrupts.install()
    try:
        yield
    finally:
        interrupts.finish()
        processes.remove_folders(but=others)
        if not to_the_end:
            interrupts.restore()
            _handlers.remove(interrupts)
            processes.begin()


@contextlib.contextmanager
def hold_signals() -> Iterator[None]:
    """For what a command does last: a signal raises nothing, inside and afterwards, and files are written whole.

    More signals end the program as ever.
    """
    with _handlers[-1].hold() if _handlers else contextlib.nullcontext():
        yield


def _let_go_of_the_terminal() -> None:
    """Nobody reads what is printed to a terminal that is gone, and printing to it fails."""
    with open(os.devnull, "r+b") as nothing:
        for stream in (sys.__stdout__, sys.__stderr__):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                number = stream.fileno()  # pyright: ignore[reportOptionalMemberAccess]
                if stat.S_ISCHR(os.fstat(number).st_mode):
                    os.dup2(nothing.fileno(), number)


def _leave() -> None:
    """End this process now, and leave nothing behind."""
    processes.end()
    processes.remove_folders()
    with contextlib.suppress(OSError):
        os.write(2, b"jaxport: interrupted again; ended before everything was written\n")
    os._exit(INTERRUPTED)
