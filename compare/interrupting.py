"""Where a program may be interrupted: not while it loads an extension module, which is interrupted a moment later.

Its native code calls Python, and need not survive an exception there: jaxlib's MLIR, interrupted so, ended this process
by SIGABRT or SIGSEGV, msgspec took no notice, and NumPy said that it is broken.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from types import FrameType

INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], None]

_AGAIN_S = 0.01
_LOADING = frozenset({ExtensionFileLoader.create_module.__code__, ExtensionFileLoader.exec_module.__code__})


def is_loading(frame: FrameType | None) -> bool:
    """Whether a frame lies in the loading of an extension module."""
    while frame is not None:
        if frame.f_code in _LOADING:
            return True
        frame = frame.f_back
    return False


def ask_again(handler: Handler) -> None:
    """Have a signal's handler called again in a moment, as that of SIGALRM."""
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, as soon as that may be: the handler of a signal."""
    if is_loading(frame):
        ask_again(interrupt)
    else:
        raise KeyboardInterrupt
