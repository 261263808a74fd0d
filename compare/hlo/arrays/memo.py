"""Remembers results by all that they depend on: levels of one pair have most of their values in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Memo(Generic[Value]):
    """Results by key. Once there are too many, all are forgotten: no more is lost than the time to compute them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[Hashable, Value] = {}

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The result of this key, computed where it is not known."""
        (value,) = self.get_all([key], lambda unknown: [compute() for _ in unknown])
        return value

    def get_all(self, keys: Sequence[Hashable], compute: Callable[[list[int]], Sequence[Value]]) -> list[Value]:
        """The results of several keys; those that are not known are computed together, by their positions."""
        # Held by name: another thread may forget all of it meanwhile.
        memory = self._known
        places: dict[Hashable, int] = {}
        for index, key in enumerate(keys):
            if key not in memory:
                places.setdefault(key, index)
        new_results = dict(zip(places, compute(list(places.values())), strict=True)) if places else {}
        results = [new_results[key] if key in new_results else memory[key] for key in keys]
        if len(memory) + len(new_results) > self._most:
            self._known = memory = {}
        memory.update(new_results)
        return results
