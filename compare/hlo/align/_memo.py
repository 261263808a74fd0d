"""What was computed before, by all that it depends on: levels of one pair have most of their values in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Memo(Generic[Value]):
    """Results by key. Once there are too many, all are forgotten: no more is lost than the time to compute them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[Hashable, Value] = {}

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The result of this key, computed where it is not known."""
        if key not in self._known:
            value = compute()
            if len(self._known) >= self._most:
                self._known = {}
            self._known[key] = value
            return value
        return self._known[key]
