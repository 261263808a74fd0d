"""The first of many lines, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence

_MOST = 3


def first_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """The first few, and how many more there are."""
    more = len(lines) - _MOST
    return (*lines[:_MOST], f"and {more} more") if more > 0 else tuple(lines)
