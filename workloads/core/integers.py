"""Integers as a program uses them: the whole type where it reckons with them, a whole table where it indexes one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from workloads.core.spec import ArraySpec

CASES = 4
"""Two of extremes and small numbers, each beside other ones; one of the whole range; one of small numbers."""

_SMALL = 20


@dataclass(frozen=True)
class Domain:
    """The range of an integer: from `low` to `high` inclusive, and not zero where it is a divisor."""

    low: int
    high: int
    nonzero: bool = False


def whole(dtype: str, nonzero: bool = False) -> Domain:
    """Every value of a type."""
    info = np.iinfo(dtype)
    return Domain(int(info.min), int(info.max), nonzero)


def within(numbers: Iterable[int], domain: Domain) -> list[int]:
    """The numbers that may be drawn, each once."""
    numbers_within = (
        number for number in numbers if domain.low <= number <= domain.high and (number or not domain.nonzero)
    )
    return list(dict.fromkeys(numbers_within))


def draw(domain: Domain, spec: ArraySpec, name: str, case: int) -> np.ndarray:
    """An array of one of the cases; the same name and case give the same values.

    Args:
      domain: ends, and whether 0 is left out.
      case: 0 and 1 hold extremes, 2 the whole domain, later ones small numbers.
    """
    generator = np.random.default_rng([case, zlib.crc32(name.encode()), 2])
    if case < 2:
        values = generator.permutation(np.resize(_extremes(domain), spec.shape).reshape(-1)).reshape(spec.shape)
    else:
        low, high = (domain.low, domain.high) if case == 2 else _small(domain)
        values = generator.integers(low, high, spec.shape, np.dtype(spec.dtype), endpoint=True)
    values = values.astype(spec.dtype)
    return np.where(values == 0, np.array(1, spec.dtype), values) if domain.nonzero else values


def _extremes(domain: Domain) -> np.ndarray:
    """Ends and their neighbours, and small numbers of both signs, as far as they are within."""
    low, high = domain.low, domain.high
    candidates = within((-1, high, low, 7, 0, -7, high - 1, low + 1, 2, -3, 1, high // 2), domain)
    return np.array(candidates, np.uint64 if high >= 2**63 else np.int64)


def _small(domain: Domain) -> tuple[int, int]:
    low = min(max(domain.low, -_SMALL), domain.high)
    return low, max(low, min(domain.high, _SMALL))
