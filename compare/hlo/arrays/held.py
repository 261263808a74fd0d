"""Results that stay in the process that computed them: it reports fingerprints, and which results are equal.

The intermediates of a training step fill gigabytes. To hand them to another process takes longer than to compute them.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from compare.hlo.arrays.fingerprints import Fingerprint, content_of, fingerprint
from compare.hlo.arrays.layouts import Equal, laid_out

_THREADS = ThreadPoolExecutor(thread_name_prefix="digests")
"""For digests alone, each a call that leaves Python to others. Fingerprints and comparisons are many small calls of
NumPy, which on two threads take as long as on one, or half as long again."""


class Places(NamedTuple):
    """One result of each of two programs, by position."""

    left: int
    right: int


@dataclass(frozen=True, eq=False)
class HeldResults:
    """The results of a program: by result, its array in each call, with a fingerprint."""

    arrays: Sequence[Sequence[np.ndarray]]
    fingerprints: Sequence[Sequence[Fingerprint]]


def hold_results(calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> HeldResults:
    """The results of several calls of one program, with their fingerprints; `tolerance` is float32's."""
    arrays = list(zip(*calls, strict=True))
    contents = iter(list(_THREADS.map(content_of, [row for result in arrays for row in result])))
    fingerprints = [[fingerprint(row, tolerance, next(contents)) for row in result] for result in arrays]
    return HeldResults(arrays, fingerprints)


def compare_results(
    left: HeldResults, right: HeldResults, pairs: Sequence[Places], tolerance: float
) -> list[Equal | None]:
    """By pair, how the two results are equal in every call; None where they are not.

    Args:
      right: of the other one, of as many calls.
      tolerance: float32's, relative to each value's scale.
    """
    return [_compare(left, right, pair, tolerance) for pair in pairs]


def _compare(left: HeldResults, right: HeldResults, pair: Places, tolerance: float) -> Equal | None:
    print_pairs = zip(left.fingerprints[pair.left], right.fingerprints[pair.right], strict=True)
    scales = [max(one.scale, other.scale) for one, other in print_pairs]
    return laid_out(list(zip(left.arrays[pair.left], right.arrays[pair.right], strict=True)), scales, tolerance)
