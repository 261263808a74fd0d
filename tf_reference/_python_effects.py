"""Lines of a Python function that run when it is traced and not when it is called, found in its source."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from workloads import _frames
from workloads._inspection import Effect

PRINT, STATE, RANDOM, CLOCK, FILE = "print", "state", "random", "clock", "file"

_CHANGES = frozenset({"append", "extend", "insert", "update", "add", "pop", "clear", "setdefault", "remove"})
_CLOCKS = frozenset({"time", "perf_counter", "monotonic", "now", "today"})
_DRAWS = ("np.random.", "numpy.random.", "random.")


def effects(functions: Iterable[Any]) -> tuple[Effect, ...]:
    """What these functions do beside computing; functions that they call are not looked into.

    Args:
      functions: of Python; what has no source, or is a framework's, is left out.
    """
    found = dict.fromkeys(effect for function in functions for effect in _of_function(function))
    return tuple(found)


def _of_function(function: Any) -> Iterator[Effect]:
    function = inspect.unwrap(function)
    try:
        lines, first = inspect.getsourcelines(function)
        file = os.path.realpath(inspect.getsourcefile(function) or "")
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        # No source, or a lambda in the middle of an expression.
        return
    if _frames.is_framework(file):
        return
    local = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.expr)]
    for node in sorted(statements, key=lambda each: (each.lineno, each.col_offset)):
        kind = _kind(node, local)
        if kind:
            yield Effect(kind, lines[node.lineno - 1].strip(), f"{file}:{first + node.lineno - 1}")


def _kind(node: ast.AST, local: set[str]) -> str:
    match node:
        case ast.Global() | ast.Nonlocal():
            return STATE
        case ast.AugAssign(target=ast.Attribute()):
            return STATE
        case ast.Assign(targets=targets) if any(isinstance(each, ast.Attribute) for each in targets):
            return STATE
        case ast.Call(func=ast.Name(id="print")):
            return PRINT
        case ast.Call(func=ast.Name(id="open" | "input")):
            return FILE
        case ast.Call(func=ast.Attribute() as called):
            return _of_method(called, local)
    return ""


def _of_method(called: ast.Attribute, local: set[str]) -> str:
    name = ast.unparse(called)
    if name.startswith(_DRAWS):
        return RANDOM
    if called.attr in _CLOCKS and name.startswith(("time.", "datetime.")):
        return CLOCK
    owner = called.value
    outside = (isinstance(owner, ast.Name) and owner.id not in local) or isinstance(owner, ast.Attribute)
    return STATE if called.attr in _CHANGES and outside and not name.startswith(("tf.", "keras.", "np.")) else ""
