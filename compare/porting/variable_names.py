"""Names of a method's variables: x as long as one is enough, and the next letter where two values live at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

_LETTERS = ("x", "y", "z", "u", "v", "w")


class Variables:
    """The variables of one method.

    Args:
      inputs: number of a tensor -> the parameter that it is.

    Attributes:
      names: of the tensors that are alive, by number.
    """

    def __init__(self, inputs: Mapping[int, str], uses: Counter[int]) -> None:
        self.names: dict[int, str] = dict(inputs)
        self._left = Counter(uses)
        self._parameters = frozenset(inputs.values())

    def read(self, tensors: Sequence[int]) -> None:
        """Count tensors as read: those that nothing reads any more give up their names."""
        self._left.subtract(tensors)

    def assign(self, outputs: Sequence[int], tensors: Sequence[int]) -> list[str]:
        """Names for what a call returns: that of its first argument if nothing else reads it, or the next free one."""
        first = next(
            (self.names[number] for number in tensors if number in self.names and self._left[number] <= 0), None
        )
        self.names = {number: name for number, name in self.names.items() if self._left[number] > 0}
        names_assigned: list[str] = []
        for _ in outputs:
            names_taken = {*self.names.values(), *names_assigned}
            can_reuse = (
                first is not None and first not in names_taken and (first in _LETTERS or len(self._parameters) == 1)
            )
            name = (
                first
                if can_reuse and first is not None
                else next(free for free in self._free() if free not in names_taken)
            )
            names_assigned.append(name)
        self.names |= dict(zip(outputs, names_assigned, strict=True))
        return names_assigned

    def _free(self) -> Iterator[str]:
        others = self._parameters - set(_LETTERS)
        yield from (letter for letter in _LETTERS if letter not in others)
        yield from (f"x{number}" for number in count(1) if f"x{number}" not in others)
