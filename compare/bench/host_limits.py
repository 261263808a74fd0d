"""The machine's limits, measured by NumPy, without XLA."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import numpy as np
from threadpoolctl import threadpool_limits

from compare.bench import roofline
from compare.bench.clock import NANOSECONDS, time_calls

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

BLOCK = 1 << 14
"""Elements that stay in the nearest cache between the two halves of a triad: NumPy has no fused one."""

ROUND_BYTES = 1 << 28
"""Bytes that a round moves: it takes much longer than its threads take to start, and much less than 0.1 s."""

ROUNDS = 3
CALLS = 3

FACTOR = 3.0

Step = Callable[[], object]
Span = tuple[int, int]
"""Start and end in nanoseconds."""
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def last_level_cache_bytes(caches: Path = CACHES) -> int | None:
    """Bytes of the last cache before memory; None where the platform does not give it."""
    sizes = [_bytes(file.read_text().strip()) for file in caches.glob("index*/size")]
    return max(sizes, default=None)


def bandwidth(kind: str, working_set_bytes: int, threads: int) -> float:
    """Bytes per second, read and written, of threads that each pass over their own part of the working set."""
    slices = [_step(kind, working_set_bytes // threads) for _ in range(threads)]
    repeats = max(1, ROUND_BYTES // working_set_bytes)
    byte_count = sum(size for _, size in slices) * repeats
    with ThreadPoolExecutor(threads) as pool:
        barrier = Barrier(threads)
        spans = list(pool.map(lambda step_and_size: _spans(step_and_size[0], repeats, barrier), slices))
    return roofline.rate(byte_count, [[_seconds(together)] for together in zip(*spans, strict=True)])


def product(dtype: str, side: int, threads: int) -> float:
    """Operations a second of a square matrix product in NumPy's BLAS.

    Args:
      dtype: as NumPy writes it.
      side: of the matrices, `dtype[side, side]`.
    """
    matrix = np.ones((side, side), dtype)
    out = np.empty_like(matrix)
    with threadpool_limits(threads, "blas"):
        call = partial(np.matmul, matrix, matrix, out)
        time_calls(call, 1)
        return roofline.rate(2 * side**3, [time_calls(call, CALLS) for _ in range(ROUNDS)])


def _step(kind: str, size_bytes: int) -> tuple[Step, int]:
    """One pass over arrays of about that size together, and the bytes that it moves."""
    arrays = {roofline.READ: 1, roofline.COPY: 2, roofline.TRIAD: 3}[kind]
    held_arrays = [np.ones(max(1, size_bytes // 4 // arrays), np.float32) for _ in range(arrays)]
    byte_count = sum(array.nbytes for array in held_arrays)
    if kind == roofline.READ:
        return held_arrays[0].sum, byte_count
    if kind == roofline.COPY:
        return partial(np.negative, held_arrays[0], held_arrays[1]), byte_count
    return partial(triad, *held_arrays), byte_count


def triad(out: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Compute out = a + FACTOR * b, in blocks.

    Args:
      out: f32[size], overwritten.
      a: f32[size].
      b: f32[size].
    """
    for start in range(0, len(out), BLOCK):
        block = slice(start, start + BLOCK)
        np.multiply(b[block], FACTOR, out[block])
        np.add(a[block], out[block], out[block])


def _spans(step: Step, repeats: int, barrier: Barrier) -> list[Span]:
    """Start and end of each round in this thread, after a step that warms up."""
    step()
    spans = []
    for _ in range(ROUNDS):
        barrier.wait()
        start = time.perf_counter_ns()
        for _ in range(repeats):
            step()
        spans.append((start, time.perf_counter_ns()))
    return spans


def _seconds(spans: Sequence[Span]) -> float:
    """From the first thread's start to the last one's end."""
    return (max(end for _, end in spans) - min(start for start, _ in spans)) * NANOSECONDS


def _bytes(text: str) -> int:
    """32768 * 1024 of "32768K"."""
    unit = _UNITS.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * unit
