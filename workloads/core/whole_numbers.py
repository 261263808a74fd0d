"""Whole numbers where sizes, steps and seeds are expected: a float, a truth value or a text is none."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np


def check_whole(value: Any, what: str) -> None:
    """Let a whole number pass, of Python or of NumPy.

    Raises:
      TypeError: it is a float such as 2.0, a truth value, or no number.
    """
    try:
        operator.index(value)
    except TypeError:
        pass
    else:
        if not isinstance(value, bool):
            return
    raise TypeError(f"expected a whole number such as 2 for {what}, found {_describe(value)}: write it without a point")


def check_sizes(shape: Any) -> None:
    """Let a shape pass: a tuple of whole numbers and of names.

    Raises:
      TypeError: it is no tuple, or a size is neither a whole number nor a name.
    """
    if not isinstance(shape, tuple | list):
        raise TypeError(f"expected a tuple of sizes such as (8, 128) for a shape, found {_describe(shape)}")
    for size in shape:
        if not isinstance(size, str):
            check_whole(size, "a size of a shape")


def check_reals(**values_by_name: Any) -> None:
    """Let real numbers pass, of Python or of NumPy, and None.

    Args:
      values_by_name: the numbers by their names.

    Raises:
      TypeError: one is a truth value, a complex number, or no number.
    """
    for name, value in values_by_name.items():
        if value is not None and not _is_real(value):
            raise TypeError(f"expected a number for {name}, found {_describe(value)}: write a number")


def check_amount(value: Any, what: str) -> None:
    """Let a finite number of at least 0 pass: what is not a number is neither above nor below anything.

    Raises:
      ValueError: it is something else.
    """
    if not _is_real(value) or not 0 <= value < math.inf:
        raise ValueError(f"expected a finite number of at least 0 for {what}, found {_describe(value)}: correct it")


def _is_real(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, bool | np.bool_)


def _describe(value: Any) -> str:
    return f"{value!r}"[:80] + f" of type {type(value).__name__}"
