"""Finds the largest batch that fits: peak memory by mode and batch size, and the throughput at that batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compare.record.cost_parts import Batch, Batches, LargestBatch


def largest_under(limit_bytes: int, rows: Iterable[Batch]) -> Batch | None:
    """The row of the largest batch of one mode that fits, as do all smaller ones that were tried.

    A batch that fits by chance, above one that did not, is no promise: so a higher limit never gives
    a smaller batch, and another row that does not fit never gives a larger one.
    """
    fitting = None
    for row in sorted(rows, key=_size):
        if row.peak_bytes is None or row.peak_bytes > limit_bytes:
            break
        fitting = row
    return fitting


def bytes_per_example(rows: Iterable[Batch]) -> float | None:
    """Slope of one mode's peak between its smallest and its largest batch; None where there are no two."""
    peaks = sorted((_size(row), row.peak_bytes) for row in rows if row.peak_bytes is not None)
    if not peaks or peaks[0][0] == peaks[-1][0]:
        return None
    (smallest, low), (largest, high) = peaks[0], peaks[-1]
    return (high - low) / (largest - smallest)


def summarise(limit_bytes: int, rows: Sequence[Batch]) -> Batches:
    """The largest batch of each mode that was tried."""
    modes = dict.fromkeys(row.mode for row in rows if row.mode)
    by_mode = {mode: [row for row in rows if row.mode == mode] for mode in modes}
    fitting = {mode: largest_under(limit_bytes, rows_of_mode) for mode, rows_of_mode in by_mode.items()}
    largest = {mode: _largest(row) if row else LargestBatch() for mode, row in fitting.items()}
    slopes = {mode: bytes_per_example(rows_of_mode) for mode, rows_of_mode in by_mode.items()}
    return Batches(limit_bytes, tuple(rows), largest, slopes)


def _largest(row: Batch) -> LargestBatch:
    return LargestBatch(batch=row.batch, examples_per_s=row.examples_per_s)


def _size(row: Batch) -> int:
    assert row.batch is not None, "every row that is measured has a batch size"
    return row.batch
