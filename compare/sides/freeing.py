"""Memory that a request leaves free: glibc keeps what compiling took, and another process lacks it."""

from __future__ import annotations

import ctypes

COMPILING = frozenset({"outputs", "outputs_with", "trajectory", "unroll", "layers", "compile_steps"})
"""Requests that may compile, of those that no timed call follows: this would find its memory unmapped."""
LONG_S = 1.0
"""Shorter ones compiled little."""


def return_free_memory(method: str, took_s: float) -> None:
    """Return what is free to the kernel after a request that compiled; the heap of glibc keeps holes as they are.

    Four programs of InceptionResNetV2 leave 1.2 of 3.0 GB so.

    Args:
      took_s: seconds that it took.
    """
    if method in COMPILING and took_s >= LONG_S:
        trim()


def trim() -> None:
    """Return what is free to the kernel, as far as the C library can."""
    # Other C libraries than glibc have no such function.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
