"""The values of a written function: expressions of arrays, and sizes and numbers that Python knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workloads.protocol.function_graph import Result


@dataclass(frozen=True)
class Reserved:
    """A list of tensors that is no array yet.

    Attributes:
      length: the expression of how many elements it has.
      element: the dtype of its elements.
      shape: of each of them; None where that is not known.
      items: those that are written so far: the expressions of place and element.
    """

    length: str
    element: Result
    shape: tuple[int | str, ...] | None = None
    items: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Value:
    """One result of a node.

    Attributes:
      result: its shape and dtype.
      text: an expression of an array; "" where only `host` is known.
      host: numbers, or expressions of Python's own integers, as an array of objects.
      only: the expression of its one element, where `text` stacks that alone.
      reserved: what there is of a list of tensors that is no array yet.
      length: the expression of how many elements a list of tensors has, of one that an array was made into.
      row: the variable of the element that each step of a scan reads of a list; "" where none goes over it.
    """

    result: Result
    text: str = ""
    only: str = ""
    host: np.ndarray[Any, Any] | None = field(default=None, compare=False)
    reserved: Reserved | None = None
    length: str = ""
    row: str = ""

    @property
    def is_known(self) -> bool:
        """Whether it is numbers alone."""
        return self.host is not None and self.host.dtype != object

    @property
    def rank(self) -> int | None:
        """How many axes it has, if that is known."""
        return None if self.result.shape is None else len(self.result.shape)


def literal(value: Any, dtype: str, follows: bool) -> str:
    """A number as Python writes it: the shortest text that is that number in its type.

    Args:
      follows: whether it is of the float type of the inputs, and may have to be exact in float64.
    """
    if isinstance(value, str):
        return value
    if dtype == "bool":
        return str(bool(value))
    if dtype.startswith(("int", "uint")):
        return str(int(value))
    if dtype.startswith("complex"):
        return repr(complex(value))
    number = float(value)
    if not np.isfinite(number):
        return "jnp.nan" if np.isnan(number) else ("jnp.inf" if number > 0 else "(-jnp.inf)")
    if not follows and dtype == "float32":
        number = float(str(np.float32(number)))
    return repr(number)


def elements_text(host: np.ndarray[Any, Any], dtype: str, follows: bool) -> str:
    """A nested list.

    Args:
      follows: whether that is the float type of the inputs.
    """
    if not isinstance(host, np.ndarray) or host.ndim == 0:
        # The elements of an array of objects are no arrays.
        return literal(host[()] if isinstance(host, np.ndarray) else host, dtype, follows)
    return f"[{', '.join(elements_text(element, dtype, follows) for element in host)}]"


def type_text(result: Result) -> str:
    """The type of an array as docstrings have it: "float32[?, 3]"."""
    sizes = "..." if result.shape is None else ", ".join("?" if size is None else str(size) for size in result.shape)
    return f"{result.dtype}[{sizes}]"


def tuple_text(items: list[str]) -> str:
    """A tuple of expressions."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
