"""Named dimensions: which sizes a port is judged at besides the one that it is timed at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from workloads.core.whole_numbers import check_whole

Dimensions = Mapping[str, int]
Range = tuple[int, int]
"""The least and the largest size, both included."""

LARGE = 200
"""The largest size where no range is given: blocks of 128 do not hold it."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_ODD, _EVEN = 7, 8
"""Sizes of everyday; each further name is judged at the next ones, so that no two are equal."""


def check_name(name: str) -> None:
    """Raise ValueError for what names no dimension; None, which TensorFlow writes, would make all such sizes equal."""
    if name == "None" or not _NAME.fullmatch(name):
        raise ValueError(f"expected a size or the name of a dimension such as B, found {name!r}")


def check_range(name: str, ends: Range) -> None:
    """Raise ValueError for a range that holds no size."""
    check_name(name)
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise ValueError(f"expected {name}=(LOW, HIGH), the least and the largest size, found {ends!r}")
    low, high = ends
    for end in ends:
        check_whole(end, f"a size of dimension {name!r}")
    if not 1 <= low <= high:
        raise ValueError(f"expected {name}=LOW..HIGH with sizes from 1 that rise, found {low}..{high}")


def usual(names: Sequence[str], ranges: Mapping[str, Range]) -> dict[str, int]:
    """The default sizes of dimensions: even, and no two equal where the ranges allow it."""
    return {name: _within(_EVEN + 2 * turn, ranges.get(name, (1, LARGE))) for turn, name in enumerate(names)}


def others(
    dimensions: Dimensions, names: Sequence[str], ranges: Mapping[str, Range], fits: Callable[[Dimensions], bool]
) -> tuple[dict[str, int], ...]:
    """Sizes of the named dimensions that are judged besides those that are given.

    Each name takes its two or three least sizes, an odd, an even and a large one, and no two names the same in one
    call but for the least: a transposed result, or one name for another, shows.

    Args:
      ranges: by name, the least and the largest size, both included.
      fits: whether arrays of such dimensions are small enough to be judged; a range that was given is trusted.
    """
    picks = [_sizes(turn, ranges.get(name), _fitting(dimensions, name, fits)) for turn, name in enumerate(names)]
    rows = [{name: sizes[0] for name, sizes in zip(names, picks, strict=True)}]
    for row in range(max(map(len, picks), default=0)):
        rows.append({
            name: sizes[(row + turn) % len(sizes)] for turn, (name, sizes) in enumerate(zip(names, picks, strict=True))
        })  # fmt: skip
    own_sizes = {name: dimensions[name] for name in names}
    return tuple({tuple(row.items()): row for row in rows if row != own_sizes}.values())


def describe_dimensions(dimensions: Dimensions) -> str:
    """Named sizes as text, such as "B=3, T=7"."""
    return ", ".join(f"{name}={size}" for name, size in dimensions.items())


def _fitting(dimensions: Dimensions, name: str, fits: Callable[[Dimensions], bool]) -> int:
    """The largest size that fits, by halves."""
    size = LARGE
    while size > 1 and not fits({**dimensions, name: size}):
        size //= 2
    return size


def _sizes(turn: int, ends: Range | None, fitting: int) -> list[int]:
    """From the least to the largest."""
    low, high = ends or (1, max(fitting + turn, 1))
    everyday = (_within(size + 2 * turn, (low, high)) for size in (_ODD, _EVEN))
    return sorted({low, *(low + more for more in (1, 2) if low + more <= high), *everyday, high})


def _within(size: int, ends: Range) -> int:
    """The size, or one as odd or even in the middle of a range that it lies outside of."""
    low, high = ends
    if low <= size <= high:
        return size
    middle = (low + high) // 2
    return middle + 1 if (middle - size) % 2 and middle < high else middle
