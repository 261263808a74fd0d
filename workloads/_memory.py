"""Giving memory back that nothing refers to any more."""

from __future__ import annotations

import ctypes
import gc


def release() -> None:
    """Collect cycles, which graphs and traced functions are, and hand free pages back to the system where it can be."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc alone has it
        trim(0)
