"""Two of a kind: one of the left program, one of the right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T", covariant=True)
S = TypeVar("S")


class Pair(NamedTuple, Generic[T]):
    """A value for the left program and one for the right program."""

    left: T
    right: T

    def map(self, function: Callable[[T], S]) -> Pair[S]:
        """The function's result for either side."""
        return Pair(function(self.left), function(self.right))

    @property
    def mirror(self) -> Pair[T]:
        """The pair with its sides swapped."""
        return Pair(self.right, self.left)
