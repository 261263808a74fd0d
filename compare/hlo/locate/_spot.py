"""Where a departure is looked at to prove its cause: what stands there, what should, and what either is computed by."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo.causes import Clue
from compare.hlo.locate import _known_functions
from compare.hlo.locate._apart import Differences, apart
from compare.hlo.locate._attempts import Attempt, Parting
from compare.hlo.locate._blame import Blamed
from compare.hlo.locate._canonical import CARRIERS, Computation
from compare.hlo.locate._departing import MeasuredProgram
from compare.hlo.locate._excerpt import Arrays, Excerpt, excerpt
from compare.hlo.locate._measured import distance
from compare.hlo.locate._switches import values_dtype

_LINEAR = CARRIERS | {"reduce", "negate", "real", "imag", "get-tuple-element", "select", "sqrt"}
_NEAR = 8
_MOST_LEAVES = 12
_FURTHER, _MOST_FURTHER = 3, 4


@dataclass(frozen=True, eq=False)
class Spot:
    """A value of the right program and what it has to be for the results to agree.

    Attributes:
      blamed: the operations that are named.
      mine: what the value is computed by in the left program; None of an operation too many.
      theirs: what it is computed by in the right one.
      expected, actual: what it has to be, and is, by case.
      bounds: by case, the largest difference that rounding explains.
      at_edges: whether the results agree in all cases once these are moved off ties and bounds.
      origin: of a downstream value, the one that it is computed from.
    """

    parting: Parting
    clue: Clue
    blamed: Blamed
    mine: Excerpt | None
    theirs: Excerpt
    expected: Arrays
    actual: Arrays
    bounds: Sequence[float]
    at_edges: Callable[[], bool]
    origin: Spot | None = None

    @cached_property
    def apart(self) -> Differences:
        """The differences of the two computations; None if one has operations that the other lacks."""
        return apart(self.parting, self.mine.target, self.theirs.target) if self.mine else None

    def accepts(self, values: Arrays | None) -> bool:
        """Whether these arrays are what the value has to be."""
        if values is None:
            return False
        cases = zip(self.expected, values, self.bounds, strict=True)
        return all(a.size == b.size and distance(a.ravel(), b.ravel()) <= bound for a, b, bound in cases)

    @cached_property
    def read(self) -> list[Arrays]:
        """The agreeing values that either is computed from, each once, the nearest first."""
        read: list[Arrays] = []
        parts = [(self.theirs.side, self.theirs)] + ([(self.mine.side, self.mine)] if self.mine else [])
        for side, part in parts:
            for key in _nearest(side.program, part):
                arrays = side.measured.arrays.get(key)
                if arrays and not any(_equal(arrays, other) for other in read):
                    read.append(arrays)
        return read[:_MOST_LEAVES]

    def factor(self, few: bool = False) -> float | None:
        """The factor that corrects the value; see `_formulas.factor`."""
        return _known_functions.factor(self.actual, self.expected, self.bounds, few)

    @cached_property
    def wider(self) -> list[Spot]:
        """Spots at the values that are computed from this one, after its correction, the nearest first."""
        program, departing_keys = self.theirs.side.program, set(self.parting.departed.right)
        further: dict[int, None] = {}
        keys = [self.theirs.target]
        for _ in range(_FURTHER):
            keys = [user for key in keys for user in program.users[key] if user in departing_keys]
            further |= dict.fromkeys(keys)
        return [spot for spot in map(self._spot_at, list(further)[:_MOST_FURTHER]) if spot is not None]

    def _spot_at(self, key: int) -> Spot | None:
        side, departing_keys = self.theirs.side, set(self.parting.departed.right)
        if key not in side.measured.arrays:
            return None
        draft = excerpt(side, key, departing_keys, cut=[self.theirs.target]).draft()
        shape = side.program.node(self.theirs.target).shape
        arrays = [np.asarray(array).reshape(shape.dimensions).astype(values_dtype(shape)) for array in self.expected]
        runs = draft.runs([{self.theirs.target: arrays}])
        if not runs:
            return None
        whole = excerpt(side, key, departing_keys)
        actual = side.measured.arrays[key]
        return dataclasses.replace(
            self, mine=None, theirs=whole, expected=runs[0], actual=actual, bounds=_bounds(side, key), origin=self
        )

    @cached_property
    def linear(self) -> list[tuple[Computation, int]]:
        """Operations that the value depends on, or is read by, through nothing but multiplications."""
        sides = [(self.theirs.side.program, self.theirs.target)]
        sides += [(self.mine.side.program, self.mine.target)] if self.mine else []
        return [(program, key) for program, target in sides for key in _linear(program, target)]


def spots(parting: Parting, attempt: Attempt | None, blame: Blamed, clue: Clue,
          at_edges: Callable[[], bool]) -> list[Spot]:  # fmt: skip
    """The value that an attempt gives, or without one every result that differs.

    Args:
      attempt: what made results agree; None of nothing.
      at_edges: whether results agree once all cases are moved off ties and bounds.
    """
    right = parting.right.measured.arrays
    if attempt is not None:
        # An operand that is replaced agrees: it is a leaf of its own excerpt.
        theirs = excerpt(parting.right, attempt.switch.key, set(parting.departed.right))
        mine = None if attempt.left is None else excerpt(parting.left, attempt.left, set(parting.departed.left))
        side_and_key = (parting.right, theirs.target) if attempt.left is None else (parting.left, attempt.left)
        actual = right[theirs.target]
        return [Spot(parting, clue, blame, mine, theirs, attempt.arrays, actual, _bounds(*side_and_key), at_edges)]
    return [_spot_of_result(parting, name, blame, clue, at_edges) for name in parting.results]


def _spot_of_result(parting: Parting, name: str, blame: Blamed, clue: Clue, at_edges: Callable[[], bool]) -> Spot:
    left, right = parting.left, parting.right
    end, other = left.program.results[name], right.program.results[name]
    mine = excerpt(left, end, set(parting.departed.left))
    theirs = excerpt(right, other, set(parting.departed.right))
    expected, actual = left.measured.arrays[end], right.measured.arrays[other]
    return Spot(parting, clue, blame, mine, theirs, expected, actual, _bounds(left, end), at_edges)


def _bounds(side: MeasuredProgram, key: int) -> list[float]:
    return [2 * bound for bound in side.measured.bounds[key]]


def _equal(one: Arrays, other: Arrays) -> bool:
    return all(a.size == b.size and np.array_equal(a.ravel(), b.ravel()) for a, b in zip(one, other, strict=True))


def _nearest(program: Computation, part: Excerpt) -> list[int]:
    """The leaves that are read the fewest operations before the target first."""
    depth = {part.target: 0}
    for key in reversed(part.nodes):
        for operand in program.node(key).operands:
            depth[operand] = min(depth.get(operand, depth.get(key, 0) + 1), depth.get(key, 0) + 1)
    return sorted(part.leaves, key=lambda key: (depth.get(key, 0), key))


def _linear(program: Computation, target: int) -> list[int]:
    linear: dict[int, None] = {target: None}
    for step in (lambda key: program.node(key).operands, lambda key: program.users[key]):
        border = [target]
        for _ in range(_NEAR):
            border = [
                neighbour for key in border if key == target or _is_linear(program, key) for neighbour in step(key)
            ]
            linear |= dict.fromkeys(border)
    return list(linear)


def _is_linear(program: Computation, key: int) -> bool:
    """Whether a factor of what it reads is one of what it makes."""
    node = program.node(key)
    scales = node.opcode in ("multiply", "divide") and any(operand in program.constants for operand in node.operands)
    return scales or node.opcode in _LINEAR
