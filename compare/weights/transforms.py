"""Transforms of arrays from Keras to Flax: the receipt names them, and the way back inverts them.

Each takes one array and gives one or several; its inverse takes these and gives the first, bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np

Axes = tuple[Annotated[int, msgspec.Meta(ge=0)], ...]
Arrays = tuple[np.ndarray, ...]


class TransformError(ValueError):
    """An array that a transform does not take: what was expected, and found."""


class Identity(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name", tag="identity"):
    """The array as it is."""

    def forward(self, array: np.ndarray) -> Arrays:
        """One array."""
        return (array,)

    def back(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The array that it was made of."""
        return _only(arrays)

    def __str__(self) -> str:
        return "as it is"


class Transpose(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name", tag="transpose"):
    """Axes in another order, as by np.transpose."""

    axes: Axes

    def forward(self, array: np.ndarray) -> Arrays:
        """One array."""
        _require(sorted(self.axes) == list(range(array.ndim)), f"{len(self.axes)} axes", array)
        return (array.transpose(self.axes),)

    def back(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The array that it was made of."""
        array = _only(arrays)
        _require(sorted(self.axes) == list(range(array.ndim)), f"{len(self.axes)} axes", array)
        return array.transpose(np.argsort(self.axes))

    def __str__(self) -> str:
        return f"axes {list(self.axes)}"


class Reshape(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name", tag="reshape"):
    """Another shape, the values in the same order."""

    before: Axes
    after: Axes

    def forward(self, array: np.ndarray) -> Arrays:
        """One array."""
        _require(array.shape == self.before, f"shape {list(self.before)}", array)
        return (_reshape(array, self.after),)

    def back(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The array that it was made of."""
        array = _only(arrays)
        _require(array.shape == self.after, f"shape {list(self.after)}", array)
        return _reshape(array, self.before)

    def __str__(self) -> str:
        return f"shape {list(self.before)} as {list(self.after)}"


class Split(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name", tag="split"):
    """Equal parts along an axis, each an array of its own: gates that Keras keeps side by side."""

    axis: Annotated[int, msgspec.Meta(ge=0)]
    parts: Annotated[int, msgspec.Meta(ge=1)]

    def forward(self, array: np.ndarray) -> Arrays:
        """Split into one array per part."""
        fits = self.axis < array.ndim and array.shape[self.axis] % self.parts == 0
        _require(fits, f"a multiple of {self.parts} along axis {self.axis}", array)
        return tuple(np.split(array, self.parts, self.axis))

    def back(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The array that they were made of."""
        first = arrays[0] if len(arrays) == self.parts else None
        if first is None or self.axis >= first.ndim or len({(array.shape, array.dtype) for array in arrays}) != 1:
            shapes = [list(array.shape) for array in arrays]
            raise TransformError(f"expected {self.parts} arrays of one shape and dtype, found {shapes}")
        return np.concatenate(arrays, self.axis)

    def __str__(self) -> str:
        return f"split into {self.parts} along axis {self.axis}"


class Permute(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name", tag="permute"):
    """Equal parts along an axis in another order, of which `order` has the old places: gates z, r, h as r, z, h."""

    axis: Annotated[int, msgspec.Meta(ge=0)]
    order: Axes

    def forward(self, array: np.ndarray) -> Arrays:
        """One array."""
        return (self._permute(array, self.order),)

    def back(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The array that it was made of."""
        return self._permute(_only(arrays), tuple(np.argsort(self.order).tolist()))

    def _permute(self, array: np.ndarray, order: Axes) -> np.ndarray:
        parts = Split(self.axis, len(order)).forward(array)
        _require(sorted(order) == list(range(len(order))), "every part once", array)
        return np.concatenate([parts[place] for place in order], self.axis)

    def __str__(self) -> str:
        return f"parts {list(self.order)} along axis {self.axis}"


class Copies(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name", tag="copies"):
    """One number several times, each in the dtype that it takes there: the count of steps, which each state has."""

    before: str
    after: tuple[str, ...]

    def forward(self, array: np.ndarray) -> Arrays:
        """Convert to one number per dtype."""
        copies = tuple(array.astype(dtype) for dtype in self.after)
        _require(
            all(_alike(copy, array) for copy in copies), f"a number that {' and '.join(self.after)} can hold", array
        )
        return copies

    def back(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The number that they are of."""
        numbers = {array.tolist() for array in arrays if array.shape == ()}
        if len(arrays) != len(self.after) or len(numbers) != 1:
            values = [array.tolist() for array in arrays]
            raise TransformError(f"expected one number {len(self.after)} times, found {values}")
        return arrays[0].astype(self.before)

    def __str__(self) -> str:
        return f"{self.before} as {', '.join(self.after)}"


class Narrowed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name", tag="narrowed"):
    """Integers in the dtype that JAX has for them: without x64 it has none of 64 bits."""

    before: Literal["int64", "uint64"]
    after: Literal["int32", "uint32"]

    def forward(self, array: np.ndarray) -> Arrays:
        """One array."""
        narrow = array.astype(self.after)
        _require(np.array_equal(narrow, array), f"integers that {self.after} can hold", array)
        return (narrow,)

    def back(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The array that it was made of."""
        return _only(arrays).astype(self.before)

    def __str__(self) -> str:
        return f"{self.before} as {self.after}"


Simple = Identity | Transpose | Reshape | Split | Permute
"""Transforms of a weight and of an optimizer's slots for it."""


class Negated(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name", tag="negated"):
    """The other sign, then the transform of the weight: optax adds to weights what Keras subtracts from them."""

    then: Simple

    def forward(self, array: np.ndarray) -> Arrays:
        """Apply both: the arrays of the second."""
        return self.then.forward(np.negative(array))

    def back(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The array that they were made of."""
        return np.negative(self.then.back(arrays))

    def __str__(self) -> str:
        return f"the other sign, {self.then}"


Transform = Simple | Copies | Narrowed | Negated

IDENTITY = Identity()
NARROWED = (Narrowed("int64", "int32"), Narrowed("uint64", "uint32"))


def without_x64(dtype: str) -> str:
    """The dtype that JAX has for integers without x64; another as it is."""
    return next((way.after for way in NARROWED if way.before == dtype), dtype)


def _only(arrays: Sequence[np.ndarray]) -> np.ndarray:
    if len(arrays) != 1:
        raise TransformError(f"expected one array, found {len(arrays)}")
    return arrays[0]


def _alike(copy: np.ndarray, array: np.ndarray) -> bool:
    return copy.tolist() == array.tolist()


def _reshape(array: np.ndarray, shape: Axes) -> np.ndarray:
    try:
        return np.ascontiguousarray(array).reshape(shape)
    except ValueError as error:
        raise TransformError(
            f"expected an array that takes the shape {list(shape)}, found {list(array.shape)}"
        ) from error


def _require(holds: bool, expected: str, array: np.ndarray) -> None:
    if not holds:
        raise TransformError(f"expected an array of {expected}, found one of shape {list(array.shape)}")
