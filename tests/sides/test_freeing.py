"""Memory that a request leaves free goes back to the kernel, where no timed call comes after it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

from compare.bench import memory
from compare.sides.freeing import LONG_S, return_free_memory

BLOCKS, BYTES = 2048, 64 << 10

pytestmark = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="glibc alone has malloc_trim")


@pytest.fixture
def free_holes() -> Iterator[int]:
    """Bytes of memory that were written and freed, between blocks that are not: glibc keeps such holes."""
    library = ctypes.CDLL(None)
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [library.malloc(BYTES) for _ in range(BLOCKS)]
    for block in blocks:
        ctypes.memset(block, 1, BYTES)
    for block in blocks[::2]:
        library.free(block)
    yield BLOCKS // 2 * BYTES
    for block in blocks[1::2]:
        library.free(block)


def returned(method: str, took_s: float) -> int:
    held = memory.own_bytes() or 0
    return_free_memory(method, took_s)
    return held - (memory.own_bytes() or 0)


def test_a_request_that_compiled_leaves_no_holes(free_holes: int) -> None:
    assert returned("outputs", LONG_S) > 0.8 * free_holes


@pytest.mark.parametrize(("method", "took_s"), [("outputs", 0.5 * LONG_S), ("round", 100.0), ("compile", 100.0)])
def test_what_is_timed_finds_its_memory_where_it_was(free_holes: int, method: str, took_s: float) -> None:
    assert returned(method, took_s) < 0.2 * free_holes
