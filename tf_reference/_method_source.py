"""The source of a user's method: its tree, its lines, and the objects that its names stand for."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from types import FunctionType
from typing import Any

from workloads.protocol.framework import Unsupported


class MethodSource:
    """A method whose source is read; the method is not called.

    Raises:
      Unsupported: the method has no readable source.
    """

    def __init__(self, model: Any, function: FunctionType) -> None:
        self.model, self.function = model, function
        try:
            lines, self._first = inspect.getsourcelines(function)
            self._file = os.path.basename(inspect.getsourcefile(function) or "")
            (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
        except (OSError, TypeError, SyntaxError, ValueError) as error:
            raise Unsupported(f"a {getattr(function, '__name__', 'method')} whose source is not there") from error
        if not isinstance(tree, ast.FunctionDef):
            raise Unsupported(f"{self.line}, which is no method")
        self.tree = tree

    @property
    def line(self) -> str:
        """FILE:LINE of the method."""
        return f"{self._file}:{self._first}"

    def parameters(self) -> list[str]:
        """The names of the parameters after self."""
        return [parameter.arg for parameter in (*self.tree.args.args[1:], *self.tree.args.kwonlyargs)]

    def refusal(self, node: ast.AST) -> Unsupported:
        """The error for a node that is not followed, with its line."""
        line = self._first + getattr(node, "lineno", 1) - 1
        return Unsupported(f"{self._file}:{line}, which is not followed: {ast.unparse(node).splitlines()[0][:60]}")

    def resolve_name(self, node: ast.expr) -> Any:
        """The object that a dotted name or a literal stands for; None if there is none."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Name(id="self"):
                return self.model
            case ast.Name(id=name):
                scope = inspect.getclosurevars(self.function)
                return {**scope.builtins, **scope.globals, **scope.nonlocals}.get(name)
            case ast.Attribute(value=value, attr=name):
                owner = self.resolve_name(value)
                return None if owner is None else getattr(owner, name, None)
            case _:
                return None
