"""Paths as Unicode, whatever the locale says: neither framework takes code from a path that is none."""

from __future__ import annotations

import locale
import os
import sys

_SWITCH = "PYTHONUTF8"


def ensure_utf8_paths() -> None:
    """Begin this process again in Python's UTF-8 mode where paths are ASCII: in LC_ALL=C with PYTHONUTF8=0.

    There every other byte of a path is a lone surrogate. A function of such a file cannot be traced: the C++ of JAX
    says `std::bad_cast`, and AutoGraph that it cannot write its module. Output keeps its encoding, and workers inherit
    the mode. Other locales name each byte by a character, and are left alone.
    """
    # Python ignores the variable, for example because of -E: another restart would never end.
    if sys.getfilesystemencoding() != "ascii" or os.environ.get(_SWITCH) == "1" or not sys.executable:
        return
    os.environ.setdefault("PYTHONIOENCODING", f"{locale.getencoding()}:backslashreplace")
    os.environ[_SWITCH] = "1"
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
