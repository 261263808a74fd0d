"""A node as a rule sees it: what it takes as expressions of arrays, as Python's numbers, or as what is known of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from compare.porting.functions.written_values import Value, literal, tuple_text
from compare.porting.safe_expressions import UnwritableError
from workloads.protocol.function_graph import Node, Result

Rule = Callable[["Call"], "str | Sequence[str]"]
"""A rule: call -> an expression, or one for each result."""

_OPERAND = re.compile(r"([$%])(\d)")
_WIDE = {"int64": "int", "float64": "float", "complex128": "complex", "bool": "bool"}
"""Python's types for dtypes of 64 bits: without jax_enable_x64 they have 32 bits, without a warning."""


class Text(Protocol):
    """Converts values to text."""

    def array(self, value: Value) -> str:
        """An expression of an array."""
        ...

    def variable(self, node: Node, index: int) -> str:
        """An input of a node as a variable."""
        ...

    def note(self, comment: str) -> None:
        """Say something behind the line that a node is written in."""
        ...

    def dtype(self, result: Result) -> str:
        """The type of a result."""
        ...


class Call:
    """One node."""

    def __init__(self, node: Node, values: Sequence[Value], text: Text) -> None:
        self.node, self.values, self._text = node, values, text

    def array(self, index: int) -> str:
        """An input as an array, in parentheses."""
        return f"({self._text.array(self.values[index])})"

    def operand(self, index: int) -> str:
        """An input as an array, or as a number where another input of its type is an array, in parentheses."""
        value = self.values[index]
        scalar = value.host is not None and value.host.ndim == 0
        same = [operand.host is None and operand.result.dtype == value.result.dtype for operand in self.values]
        if scalar and value.host is not None and any(same):
            return f"({literal(value.host[()], value.result.dtype, value.result.follows)})"
        return self.array(index)

    def variable(self, index: int) -> str:
        """An input as a variable: an expression that may stand twice."""
        return self._text.variable(self.node, index)

    def arrays(self, first: int = 0, behind: int | None = None) -> str:
        """Inputs as a list of arrays."""
        numbers = range(len(self.values))[first:behind]
        return f"[{', '.join(self.array(index) for index in numbers)}]"

    def template(self, text: str) -> str:
        """A text with $0 for the first input as an array, and %0 for it as an array or a number."""
        return _OPERAND.sub(
            lambda match: self.array(int(match[2])) if match[1] == "$" else self.operand(int(match[2])), text
        )

    def host(self, index: int) -> np.ndarray[Any, Any]:
        """An input as numbers and expressions of Python's own integers.

        Raises:
          UnwritableError: it is computed from arrays.
        """
        value = self.values[index]
        if value.host is None:
            raise UnwritableError(f"input {index} of it is no constant, nor made of shapes")
        return value.host

    def known_array(self, index: int) -> np.ndarray[Any, Any]:
        """An input as numbers.

        Raises:
          UnwritableError: it is not known.
        """
        host = self.host(index)
        if host.dtype == object:
            raise UnwritableError(f"input {index} of it is no constant")
        return host

    def number(self, index: int) -> str:
        """An input as one of Python's integers."""
        return str(self.host(index).reshape(())[()])

    def numbers(self, index: int) -> str:
        """An input as a tuple of Python's integers."""
        return tuple_text([str(number) for number in self.host(index).reshape(-1).tolist()])

    def integers(self, index: int) -> list[int]:
        """An input as integers that are known."""
        return [int(number) for number in self.known_array(index).reshape(-1)]

    def attribute(self, name: str, otherwise: Any = None) -> Any:
        """An attribute."""
        value = self.node.attributes.get(name)
        return otherwise if value is None else value

    def rank(self, index: int) -> int:
        """How many axes an input has.

        Raises:
          UnwritableError: that is not known.
        """
        rank = self.values[index].rank
        if rank is None:
            raise UnwritableError(f"the rank of input {index} of it is not known")
        return rank

    def shape(self, index: int) -> tuple[int | None, ...]:
        """The shape of an input.

        Raises:
          UnwritableError: its rank is not known.
        """
        self.rank(index)
        return self.values[index].result.shape or ()

    def dtype_of(self, index: int) -> str:
        """The dtype of an input, by name."""
        return self.values[index].result.dtype

    def dtype(self, result: int = 0) -> str:
        """The dtype of a result, as an expression."""
        return self._text.dtype(self.node.results[result])

    def is_float(self, index: int) -> bool:
        """Whether an input is of floating-point numbers."""
        return self.dtype_of(index).startswith(("float", "bfloat"))

    def is_complex(self, index: int) -> bool:
        """Whether an input is of complex numbers."""
        return self.dtype_of(index).startswith("complex")

    def note(self, comment: str) -> None:
        """Say something behind the line."""
        self._text.note(comment)


def plain_dtype(name: str) -> str:
    """The expression of a dtype that is the same whatever the inputs are."""
    return _WIDE.get(name, f"jnp.{name}")
