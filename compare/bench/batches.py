"""Which batch fits: peak memory by mode against batch size, the largest under a limit, and throughput there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One mode at one batch size, in a fresh process.

    Attributes:
      peak_bytes: physical memory held at most, from before the mode was prepared through its steady
        calls, less what the process held before: arguments, weights, intermediates, and the compiler.
        None where the platform keeps no count, or the mode failed.
      temp_bytes: what the compiler sets aside for intermediates; None where there is none or it does not say.
      steady_s: median seconds of a step.
      reason: why there are no figures; no larger batch of the mode was tried then.
    """

    mode: str
    batch: int
    peak_bytes: int | None = None
    temp_bytes: int | None = None
    steady_s: float | None = None
    examples_per_s: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Largest:
    """The largest batch of a mode under the limit, and its throughput there."""

    batch: int
    examples_per_s: float | None


@dataclass(frozen=True)
class Batches:
    """`batches` of a workload's record. A mode that no batch of fits has None in `largest`.

    `bytes_per_example` is what the peak grows by with each further example: what a mode holds
    whatever the batch (weights, the compiler) is not in it. None with fewer than two peaks.
    """

    limit_bytes: int
    rows: tuple[Row, ...]
    largest: Mapping[str, Largest | None]
    bytes_per_example: Mapping[str, float | None]


def largest_under(limit_bytes: int, rows: Iterable[Row]) -> Row | None:
    """The row of the largest batch of one mode that fits, as do all smaller ones that were tried.

    A batch that fits by chance, above one that did not, is no promise: so a higher limit never gives
    a smaller batch, and another row that does not fit never gives a larger one.
    """
    fitting = None
    for row in sorted(rows, key=lambda row: row.batch):
        if row.peak_bytes is None or row.peak_bytes > limit_bytes:
            break
        fitting = row
    return fitting


def bytes_per_example(rows: Iterable[Row]) -> float | None:
    """Slope of one mode's peak between its smallest and its largest batch; None where there are no two."""
    peaks = sorted((row.batch, row.peak_bytes) for row in rows if row.peak_bytes is not None)
    if not peaks or peaks[0][0] == peaks[-1][0]:
        return None
    (smallest, low), (largest, high) = peaks[0], peaks[-1]
    return (high - low) / (largest - smallest)


def summarise(limit_bytes: int, rows: Sequence[Row]) -> Batches:
    """The largest batch of each mode that was tried."""
    by_mode = {mode: [row for row in rows if row.mode == mode] for mode in dict.fromkeys(row.mode for row in rows)}
    fitting = {mode: largest_under(limit_bytes, each) for mode, each in by_mode.items()}
    largest = {mode: Largest(row.batch, row.examples_per_s) if row else None for mode, row in fitting.items()}
    slopes = {mode: bytes_per_example(each) for mode, each in by_mode.items()}
    return Batches(limit_bytes, tuple(rows), largest, slopes)
