"""Code of the map of operations, evaluated: statements, and an expression in the last line."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any


def evaluate(code: str, names: Mapping[str, Any]) -> Any:
    """The value of the last line, an expression, after the statements above it.

    Raises:
      ValueError: the last line is no expression.
    """
    *statements, last = ast.parse(code.strip()).body
    if not isinstance(last, ast.Expr):
        raise ValueError(f"expected an expression in the last line, found {ast.unparse(last)!r}")
    scope = dict(names)
    exec(compile(ast.Module(statements, []), "<row>", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "<row>", "eval"), scope)
