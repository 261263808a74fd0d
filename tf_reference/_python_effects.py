"""Lines of a Python function, and of its helpers, that run when it is traced and not when it is called."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import textwrap
from collections.abc import Iterable, Iterator
from tokenize import TokenError
from types import FunctionType, MethodType
from typing import Any

import tensorflow as tf

from workloads.core import frames
from workloads.protocol.inspection import Effect

PRINT, STATE, RANDOM, CLOCK, FILE = "print", "state", "random", "clock", "file"

_CHANGES = frozenset({"append", "extend", "insert", "update", "add", "pop", "clear", "setdefault", "remove"})
_CLOCKS = frozenset({"time", "perf_counter", "monotonic", "now", "today"})
_DRAWS = ("np.random.", "numpy.random.", "random.")

DEPTH = 2
"""The depth to which callees in the same file are examined."""

_MOST_WRAPPERS = 16
"""Around a function, as decorators leave them."""


def effects(functions: Iterable[Any], owner: type | None = None) -> tuple[Effect, ...]:
    """Effects of these functions beside their results, and of functions of the same file that they call by name.

    Args:
      functions: of Python; what has no source, or is a framework's, is left out.
      owner: the class whose methods they are: what they call of it is looked into too.
    """
    side_effects: list[Effect] = []
    seen_functions: set[FunctionType] = set()
    level = [plain for function in functions if (plain := _plain(function))]
    # Level by level, so that what can be reached by a long and a short way is looked into by the short one.
    for _ in range(DEPTH + 1):
        level = [function for function in dict.fromkeys(level) if function not in seen_functions]
        seen_functions.update(level)
        side_effects += [effect for function in level for effect in _of_function(function)]
        level = [helper for function in level for helper in _helpers(function, owner)]
    return tuple(dict.fromkeys(side_effects))


def _plain(value: Any) -> FunctionType | None:
    """The innermost Python function of a function, a method, a tf.function or what wraps one; else None.

    Only of these an attribute is asked for: a user's object may do anything then, a lazy module imports itself.
    """
    innermost: FunctionType | None = None
    for _ in range(_MOST_WRAPPERS):
        if issubclass(type(value), tf.types.experimental.PolymorphicFunction):
            value = value.python_function
        elif type(value) is MethodType:
            value = value.__func__
        innermost = value if type(value) is FunctionType else innermost
        value = inspect.getattr_static(value, "__wrapped__", None)
    return innermost


def _helpers(function: FunctionType, owner: type | None) -> Iterator[FunctionType]:
    """Functions of the same file that stand under a name in this one, in a closure, in the module or in a class."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=False)
    values_by_name = function.__globals__ | {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    for name in (*code.co_names, *code.co_freevars):
        helper = _plain(values_by_name.get(name))
        if helper is not None and helper.__code__.co_filename == code.co_filename:
            yield helper
    for name in code.co_names if owner is not None else ():
        value = inspect.getattr_static(owner, name, None)
        method = _plain(value.fget if type(value) is property else value)
        # Of a class that this one is made of, it stands in another file.
        if method is not None and not frames.is_framework(os.path.realpath(method.__code__.co_filename)):
            yield method


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # a name that is bound later
        return False
    return True


def _of_function(function: FunctionType) -> Iterator[Effect]:
    code = function.__code__
    file = os.path.realpath(code.co_filename)
    if frames.is_framework(file):
        return
    # As inspect.getsourcelines, which asks modules for their files, lazy ones too.
    linecache.checkcache(code.co_filename)
    lines, first = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :], code.co_firstlineno
    try:
        lines = inspect.getblock(lines)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (SyntaxError, TokenError):
        # A lambda in the middle of an expression.
        return
    local = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.expr)]
    for node in sorted(statements, key=lambda node: (node.lineno, node.col_offset)):
        kind = _kind(node, local)
        if kind:
            yield Effect(kind, lines[node.lineno - 1].strip(), f"{file}:{first + node.lineno - 1}")


def _kind(node: ast.AST, local: set[str]) -> str:
    match node:
        case ast.Global() | ast.Nonlocal():
            return STATE
        case ast.AugAssign(target=ast.Attribute()):
            return STATE
        case ast.Assign(targets=targets) if any(isinstance(target, ast.Attribute) for target in targets):
            return STATE
        case ast.Call(func=ast.Name(id="print")):
            return PRINT
        case ast.Call(func=ast.Name(id="open" | "input")):
            return FILE
        case ast.Call(func=ast.Attribute() as method_called):
            return _of_method(method_called, local)
    return ""


def _of_method(method_called: ast.Attribute, local: set[str]) -> str:
    name = ast.unparse(method_called)
    if name.startswith(_DRAWS):
        return RANDOM
    if method_called.attr in _CLOCKS and name.startswith(("time.", "datetime.")):
        return CLOCK
    owner = method_called.value
    outside = (isinstance(owner, ast.Name) and owner.id not in local) or isinstance(owner, ast.Attribute)
    return STATE if method_called.attr in _CHANGES and outside and not name.startswith(("tf.", "keras.", "np.")) else ""
