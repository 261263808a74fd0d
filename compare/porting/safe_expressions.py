"""Expressions of Python: put together of parts that are parsed, so that no value of a model can become code."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from workloads._architecture import CONSTANT, ELLIPSIS, SLICE, TENSOR, TUPLE, UNKNOWN

_ROOTS = frozenset({"jax", "jnp", "nnx", "jaxport", "optax", "self", "len", "rngs", "float", "math"})
_KINDS = (
    ast.Expression, ast.Call, ast.Attribute, ast.Name, ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.BinOp,
    ast.Compare, ast.Subscript, ast.Slice, ast.keyword, ast.Lambda, ast.arguments, ast.arg, ast.operator, ast.unaryop,
    ast.cmpop, ast.expr_context, ast.Dict,
)  # fmt: skip

_FEW = 16
"""Values of a constant that a reader still reads."""


class UnwritableError(Exception):
    """What cannot be written as an expression, and why."""


def checked(text: str, names: frozenset[str]) -> str:
    """An expression that calls nothing but JAX, Flax and jaxport.

    Args:
      text: of it.
      names: of variables that it may read.

    Raises:
      UnwritableError: it is none.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UnwritableError(f"{text[:80]!r} is no expression") from error
    bound = {each.arg for node in ast.walk(tree) if isinstance(node, ast.Lambda) for each in node.args.args}
    for node in ast.walk(tree):
        unknown = isinstance(node, ast.Name) and node.id not in _ROOTS | names | bound
        private = isinstance(node, ast.Attribute) and node.attr.startswith("_")
        if not isinstance(node, _KINDS) or unknown or private:
            raise UnwritableError(f"{text[:80]!r} is no expression of JAX alone")
    return text


def substituted(text: str, given: Mapping[str, str]) -> str:
    """An expression with other expressions for its variables.

    Args:
      text: an expression.
      given: name of a variable -> the expression that takes its place.

    Raises:
      UnwritableError: one of them is no expression.
    """
    try:
        tree = ast.parse(text, mode="eval")
        other = {name: ast.parse(each, mode="eval").body for name, each in given.items()}
    except SyntaxError as error:
        raise UnwritableError(f"{text[:80]!r} is no expression") from error
    return ast.unparse(ast.fix_missing_locations(_Substitution(other).visit(tree)))


class _Substitution(ast.NodeTransformer):
    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self._given = given

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._given.get(node.id, node)


def literal(value: Any) -> str:
    """A number, text, list or None as Python writes it.

    Raises:
      UnwritableError: it is none of these.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, list):
        return f"({''.join(f'{literal(each)}, ' for each in value).rstrip(' ')})" if value else "()"
    raise UnwritableError(f"{type(value).__name__} is no plain value")


def argument(value: Any, variables: Mapping[int, str]) -> str:
    """An argument of a call.

    Args:
      value: as an architecture has it.
      variables: by the number of a tensor.

    Raises:
      UnwritableError: it holds what is not said.
    """
    if isinstance(value, dict):
        (kind, inner), *_ = value.items()
        if kind == TENSOR:
            if inner not in variables:
                raise UnwritableError("it is given a mask that Keras made beside the graph")
            return variables[inner]
        if kind == TUPLE:
            return f"({''.join(f'{argument(each, variables)}, ' for each in inner)})"
        if kind == SLICE:
            ends = ["" if each is None else argument(each, variables) for each in inner]
            return ":".join(ends if inner[2] is not None else ends[:2])
        if kind == ELLIPSIS:
            return "..."
        if kind == CONSTANT:
            return _constant(inner["shape"], inner["values"])
        if kind == UNKNOWN:
            raise UnwritableError(f"an argument of class {inner}")
        return f"{{{', '.join(f'{name!r}: {argument(each, variables)}' for name, each in inner)}}}"
    if isinstance(value, list):
        return f"[{', '.join(argument(each, variables) for each in value)}]"
    return literal(value)


def _constant(shape: list[int], values: list[Any]) -> str:
    """An array that is written down: a number, a range, or few values."""
    if not shape:
        return literal(values[0])
    if len(values) > 1 and all(type(each) is int for each in values):
        start, step = values[0], values[1] - values[0]
        if step and values == list(range(start, start + step * len(values), step)):
            ends = (len(values),) if (start, step) == (0, 1) else (start, start + step * len(values))
            steps = f", {step}" if step != 1 else ""
            text = f"jnp.arange({', '.join(map(str, ends))}{steps})"
            return text if len(shape) == 1 else f"{text}.reshape({literal(shape)})"
    if len(values) > _FEW:
        raise UnwritableError(f"a constant of {len(values)} values")
    text = f"jnp.asarray([{', '.join(map(literal, values))}])"
    return text if len(shape) == 1 else f"{text}.reshape({literal(shape)})"


def tensors(value: Any) -> list[int]:
    """The numbers of the tensors in an argument, in order; one that stands twice, twice."""
    if isinstance(value, dict):
        (kind, inner), *_ = value.items()
        if kind == TENSOR:
            return [inner]
        if kind == "dict":
            return [number for _, each in inner for number in tensors(each)]
        return tensors(inner)
    return [number for each in value for number in tensors(each)] if isinstance(value, list | tuple) else []
