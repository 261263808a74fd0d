"""Whether two programs differ only where inputs tie, vanish or lie on a bound."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from compare.hlo.locate._measured import distance, size

if TYPE_CHECKING:
    from compare.hlo.locate._departures import RanProgram

_STEP = 1e-3
_SLACK = 100.0


def only_at_edges(left: RanProgram, right: RanProgram) -> bool:
    """Whether all shared results agree in every case whose arguments are moved off their edges."""
    for case, smooth in enumerate(left.smooth):
        if not smooth:
            mine, theirs = (ran.side.measured.again(_move(ran, ran.arguments[case])) for ran in (left, right))
            names = left.side.program.results.keys() & right.side.program.results.keys()
            ends = [(left.side.program.results[name], right.side.program.results[name]) for name in names]
            if not all(_near(mine[one], theirs[other], left.precision.floor) for one, other in ends):
                return False
    return True


def _move(ran: RanProgram, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Every float by a little of its own, the same on both sides."""
    return [_off(array, slot) for slot, array in zip(ran.side.program.slots, arguments, strict=True)]


def _off(array: np.ndarray, slot: str) -> np.ndarray:
    if array.dtype.kind != "f":
        return array
    seed = int.from_bytes(hashlib.blake2b(slot.encode(), digest_size=8).digest(), "big")
    draws = np.random.default_rng(seed).uniform(-1, 1, array.shape)
    return (array + _STEP * np.maximum(1, np.abs(array)) * draws).astype(array.dtype)


def _near(left: np.ndarray, right: np.ndarray, floor: float) -> bool:
    return left.size == right.size and distance(left.ravel(), right.ravel()) <= _SLACK * floor * size(left)
