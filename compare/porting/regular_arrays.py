"""Constants: by the call that an engineer would write, by their elements, or kept in a file beside the code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MOST_IN_TEXT = 64
"""Elements of a constant that is written out; a larger one is kept in a file."""

_FEWEST = 4
"""Elements that are no longer read at a glance."""

Array = np.ndarray[Any, Any]
Literal = Callable[[Any], str]
"""An element as Python writes it."""


def regular(array: Array, dtype: str, literal: Literal) -> str:
    """The expression of an array that is filled, a range, or a triangle or diagonal; "" of any other.

    Args:
      array: of numbers or truth values, with an axis at least.
      dtype: the expression of its type; "" of Python's integers.
    """
    if not array.size or not array.ndim or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        return ""
    dtype_text = f", {dtype or 'int'}"
    shape = f"({''.join(f'{size}, ' for size in array.shape).rstrip(', ')}{',' if array.ndim == 1 else ''})"
    first = array.flat[0]
    if (array == first).all():
        if array.dtype.kind != "b" and first in (0, 1):
            return f"jnp.{'ones' if first else 'zeros'}({shape}{dtype_text})"
        return f"jnp.full({shape}, {literal(first)}{dtype_text})"
    if array.size < _FEWEST:
        return ""
    return _range(array, dtype, shape) or _of_matrix(array, dtype_text)


def _range(array: Array, dtype: str, shape: str) -> str:
    """A range of whole numbers, maybe of a float type, in any shape."""
    if array.dtype.kind not in "iuf" or (array != np.trunc(array)).any() or np.abs(array).max() > 2**24:
        return ""
    start, step = int(array.flat[0]), int(array.flat[1]) - int(array.flat[0])
    if not step or (array.ravel() != start + step * np.arange(array.size)).any():
        return ""
    stop = start + step * array.size
    ends = [str(stop)] if (start, step) == (0, 1) else [str(start), str(stop)]
    ends += [str(step)] if step != 1 else []
    ends += [f"dtype={dtype}"] if dtype else []
    text = f"jnp.arange({', '.join(ends)})"
    return text if array.ndim == 1 else f"{text}.reshape({shape})"


def _of_matrix(array: Array, dtype_text: str) -> str:
    """A unit matrix, or a triangle of ones."""
    if array.ndim != 2:
        return ""
    rows, columns = array.shape
    for k in range(1 - rows, columns):
        for name, matrix in (("eye", np.eye(rows, columns, k)), ("tri", np.tri(rows, columns, k))):
            if (array == matrix).all():
                sides = str(rows) if rows == columns else f"{rows}, {columns}"
                more = f", k={k}" if k else ""
                return f"jnp.{name}({sides}{more}{dtype_text.replace(', ', ', dtype=')})"
    return ""


def keep(constants: dict[str, Array], array: Array, base: str) -> str:
    """The name under which an array is kept; one that is there already keeps its own.

    Args:
      constants: by name, to which it is added.
    """
    name, number = base, 1
    while name in constants:
        there = constants[name]
        if there.dtype == array.dtype and there.shape == array.shape and there.tobytes() == array.tobytes():
            return name
        number += 1
        name = f"{base}_{number}"
    constants[name] = array
    return name
