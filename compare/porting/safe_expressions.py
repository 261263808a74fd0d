"""Expressions of Python: put together of parts that are parsed, so that no value of a model can become code."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from compare.porting.regular_arrays import MOST_IN_TEXT, keep, regular
from workloads.protocol.architecture import CONSTANT, ELLIPSIS, SLICE, TENSOR, TUPLE, UNKNOWN, Call

_ROOTS = frozenset(
    {"jax", "jnp", "nnx", "nn", "jaxport", "optax", "self", "len", "rngs", "float", "math", "int", "bool", "CONSTANTS"}
)
_KINDS = (
    ast.Expression, ast.Call, ast.Attribute, ast.Name, ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.BinOp,
    ast.Compare, ast.Subscript, ast.Slice, ast.keyword, ast.Lambda, ast.arguments, ast.arg, ast.operator, ast.unaryop,
    ast.cmpop, ast.expr_context, ast.Dict,
)  # fmt: skip

_KEPT = "kept"
"""A constant by its name in a file."""


class UnwritableError(Exception):
    """A value cannot be written as an expression; the message says why."""


def check(text: str, names: frozenset[str]) -> str:
    """An expression that calls nothing but JAX, Flax and jaxport.

    Args:
      names: of variables that it may read.

    Raises:
      UnwritableError: it is none.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UnwritableError(f"{text[:80]!r} is no expression") from error
    bound = {parameter.arg for node in ast.walk(tree) if isinstance(node, ast.Lambda) for parameter in node.args.args}
    for node in ast.walk(tree):
        unknown = isinstance(node, ast.Name) and node.id not in _ROOTS | names | bound
        private = isinstance(node, ast.Attribute) and node.attr.startswith("_")
        if not isinstance(node, _KINDS) or unknown or private:
            raise UnwritableError(f"{text[:80]!r} is no expression of JAX alone")
    return text


def substitute(text: str, expressions: Mapping[str, str]) -> str:
    """An expression with other expressions for its variables.

    Args:
      expressions: name of a variable -> the expression that takes its place.

    Raises:
      UnwritableError: one of them is no expression.
    """
    try:
        tree = ast.parse(text, mode="eval")
        other = {name: ast.parse(expression, mode="eval").body for name, expression in expressions.items()}
    except SyntaxError as error:
        raise UnwritableError(f"{text[:80]!r} is no expression") from error
    return ast.unparse(ast.fix_missing_locations(_Substitution(other).visit(tree)))


class _Substitution(ast.NodeTransformer):
    def __init__(self, expressions: Mapping[str, ast.expr]) -> None:
        self._given = expressions

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
        return f"({''.join(f'{literal(element)}, ' for element in value).rstrip(' ')})" if value else "()"
    raise UnwritableError(f"{type(value).__name__} is no plain value")


def argument(value: Any, variables: Mapping[int, str]) -> str:
    """An argument of a call.

    Args:
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
            return f"({''.join(f'{argument(element, variables)}, ' for element in inner)})"
        if kind == SLICE:
            ends = ["" if end is None else argument(end, variables) for end in inner]
            return ":".join(ends if inner[2] is not None else ends[:2])
        if kind == ELLIPSIS:
            return "..."
        if kind == CONSTANT:
            return _constant(inner["shape"], inner["values"])
        if kind == _KEPT:
            return f"jnp.asarray(CONSTANTS[{inner!r}])"
        if kind == UNKNOWN:
            raise UnwritableError(f"an argument of class {inner}")
        return f"{{{', '.join(f'{name!r}: {argument(element, variables)}' for name, element in inner)}}}"
    if isinstance(value, list):
        return f"[{', '.join(argument(element, variables) for element in value)}]"
    return literal(value)


def _constant(shape: list[int], values: list[Any]) -> str:
    """An array that is written down: a number, a call that makes it, or its elements."""
    if not shape:
        return literal(values[0])
    array = array_of(shape, values)
    dtype = {"b": "bool", "f": "float"}.get(array.dtype.kind, "")
    text = regular(array, dtype, lambda element: literal(element.item()))
    if text:
        return text
    if len(values) > MOST_IN_TEXT:
        raise UnwritableError(f"a constant of {len(values)} values")
    text = f"jnp.asarray([{', '.join(map(literal, values))}])"
    return text if len(shape) == 1 else f"{text}.reshape({literal(shape)})"


def array_of(shape: list[int], values: list[Any]) -> Any:
    """A constant as an array: whole numbers as int32, others in float32."""
    whole = all(type(value) is int for value in values)
    truths = all(isinstance(value, bool) for value in values)
    return np.array(values, bool if truths else np.int32 if whole else np.float64).reshape(shape)


def with_kept(call: Call, constants: dict[str, Any]) -> Call:
    """A call with those of its constants that no text says under their names in a file.

    Args:
      constants: of the file, to which they are added.
    """
    arguments = tuple(_with_kept(value, constants) for value in call.arguments)
    return replace(
        call,
        arguments=arguments,
        keywords={name: _with_kept(value, constants) for name, value in call.keywords.items()},
    )


def _with_kept(value: Any, constants: dict[str, Any]) -> Any:
    if isinstance(value, dict) and CONSTANT in value:
        array = array_of(value[CONSTANT]["shape"], value[CONSTANT]["values"])
        small = array.size <= MOST_IN_TEXT or regular(array, "", str)
        return value if small else {_KEPT: keep(constants, array, "constant")}
    if isinstance(value, dict):
        return {key: inner if key == TENSOR else _with_kept(inner, constants) for key, inner in value.items()}
    return [_with_kept(element, constants) for element in value] if isinstance(value, list) else value


def apart(nest: Any) -> list[Any]:
    """The leaves of nested lists, tuples and dicts; of a dict by its sorted keys, as in Keras."""
    if isinstance(nest, dict) and TUPLE in nest:
        nest = nest[TUPLE]
    if isinstance(nest, dict) and "dict" in nest:
        nest = [element for _, element in sorted(nest["dict"], key=lambda pair: pair[0])]
    return [inner for element in nest for inner in apart(element)] if isinstance(nest, list) else [nest]


def tensors_of(call: Call) -> list[int]:
    """The numbers of the tensors in the arguments of a call, in order."""
    return [number for value in (*call.arguments, *call.keywords.values()) for number in tensors(value)]


def tensors(value: Any) -> list[int]:
    """The numbers of the tensors in an argument, in order; one that stands twice, twice."""
    if isinstance(value, dict):
        (kind, inner), *_ = value.items()
        if kind == TENSOR:
            return [inner]
        if kind in (CONSTANT, _KEPT):
            return []
        if kind == "dict":
            return [number for _, element in inner for number in tensors(element)]
        return tensors(inner)
    return [number for element in value for number in tensors(element)] if isinstance(value, list | tuple) else []
