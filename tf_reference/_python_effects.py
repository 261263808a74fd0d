"""Lines of a Python function, and of its helpers, that run when it is traced and not when it is called."""

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


DEPTH = 2
"""So far functions of the same file that a function calls are looked into."""


def effects(functions: Iterable[Any]) -> tuple[Effect, ...]:
    """What these functions do beside computing, and those of the same file that they call by their name.

    Args:
      functions: of Python; what has no source, or is a framework's, is left out.
    """
    seen: set[int] = set()
    return tuple(dict.fromkeys(effect for function in functions for effect in _within(function, DEPTH, seen)))


def _within(function: Any, depth: int, seen: set[int]) -> Iterator[Effect]:
    function = inspect.unwrap(getattr(function, "python_function", function))
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _of_function(function)
    for helper in _helpers(function) if depth else ():
        yield from _within(helper, depth - 1, seen)


def _helpers(function: Any) -> Iterator[Any]:
    """Functions of the same file that stand under a name in this one, in a closure or in the module."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    cells = zip(code.co_freevars, function.__closure__ or (), strict=False)
    known = function.__globals__ | {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    for name in (*code.co_names, *code.co_freevars):
        found = inspect.unwrap(getattr(known.get(name), "python_function", known.get(name)))
        if inspect.isfunction(found) and found.__code__.co_filename == code.co_filename:
            yield found


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # a name that is bound later
        return False
    return True


def _of_function(function: Any) -> Iterator[Effect]:
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
