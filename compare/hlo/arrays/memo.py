"""What was computed before, by all that it depends on: levels of one pair have most of their values in common."""

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
        """The results of several keys; those that are not known are computed together, told by their places."""
        # Held by name: another thread may forget all of it meanwhile.
        known = self._known
        places: dict[Hashable, int] = {}
        for at, key in enumerate(keys):
            if key not in known:
                places.setdefault(key, at)
        computed = dict(zip(places, compute(list(places.values())), strict=True)) if places else {}
        results = [computed[key] if key in computed else known[key] for key in keys]
        if len(known) + len(computed) > self._most:
            self._known = known = {}
        known.update(computed)
        return results
