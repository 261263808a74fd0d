"""Calls of a helper function, each of which takes what the call before it returns, as a loop over what differs."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from compare.porting.functions.helper_parameters import path_of, root_of, stem
from compare.porting.functions.holes import is_literal, is_stored
from compare.porting.functions.statements import TOKEN, Definition, Line, Loop, Statement, Variable
from compare.porting.functions.written_module import Module
from compare.porting.functions.written_values import tuple_text

LEAST_IN_LOOP = 3
"""The fewest calls that become a loop."""

_NUMBERED = re.compile(r"([\w./-]*?)(0|[1-9]\d*)([A-Za-z_./-]*)")


@dataclass(frozen=True)
class _Call:
    """A call of a helper function: what it gives, its name, and its arguments."""

    define: Variable
    name: str
    arguments: tuple[str, ...]


def with_loops(
    statements: Sequence[Statement], results: Sequence[str], module: Module, helpers: set[str]
) -> list[Statement]:
    """Statements in which chains of calls are loops."""
    reads = count_reads(statements, results)
    lines, position = list[Statement](), 0
    while position < len(statements):
        chain, place = _chain(statements[position:], reads, helpers)
        loop = _loop(chain, place, module) if len(chain) >= LEAST_IN_LOOP else None
        lines.append(statements[position] if loop is None else loop)
        position += 1 if loop is None else len(chain)
    return lines


def count_reads(statements: Sequence[Statement], results: Sequence[str]) -> Counter[str]:
    """How often each variable is read."""
    return Counter(match[0] for text in (*_texts(statements), *results) for match in TOKEN.finditer(text))


def _texts(statements: Sequence[Statement]) -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, Definition):
            yield from _texts(statement.body)
            yield statement.result
        elif isinstance(statement, Line):
            yield statement.text
        else:
            yield from (statement.initial, statement.over, statement.step)


def _chain(statements: Sequence[Statement], reads: Counter[str], helpers: set[str]) -> tuple[list[_Call], int]:
    """The calls that the statements begin with, and the argument that each has from the one before it."""
    calls, place = list[_Call](), -1
    for statement in statements:
        call = _read_call(statement, helpers)
        if call is None or (calls and call.name != calls[0].name):
            break
        if calls:
            before = calls[-1].define.token
            if reads[before] != 1 or before not in call.arguments or place not in (-1, call.arguments.index(before)):
                break
            place = call.arguments.index(before)
        calls.append(call)
    return calls, place


def _read_call(statement: Statement, helpers: set[str]) -> _Call | None:
    if not isinstance(statement, Line) or len(statement.defines) != 1:
        return None
    node = ast.parse(statement.text, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in helpers:
        return None
    return _Call(statement.defines[0], node.func.id, tuple(map(ast.unparse, node.args)))


@dataclass
class _Items:
    """The values that differ between the steps of a loop.

    Attributes:
      module: that it is in.
      first: the number of the first step, where all that differs is counted; None where it is not.
      columns: expressions of keys or numbers by step, with the variable that stands for them.
    """

    module: Module
    first: int | None = None
    columns: dict[tuple[str, ...], Variable] = field(default_factory=dict)

    def variable(self, column: tuple[str, ...], wanted_name: str) -> str:
        """The variable that stands for these."""
        if column not in self.columns:
            self.columns[column] = Variable(self.module.token(), wanted_name)
        return self.columns[column].token

    def key(self, column: tuple[str, ...]) -> str:
        """The expression of a key."""
        if len({*column}) == 1:
            return repr(column[0])
        parts = _count_up(column)
        if parts is None or self.first is None:
            return self.variable(tuple(map(repr, column)), stem(column) or "name")
        start, first, end = parts
        return f"f'{start}{{{self.variable(tuple(map(str, range(first, first + len(column)))), 'i')}}}{end}'"


def _loop(calls: Sequence[_Call], place: int, module: Module) -> Loop | None:
    """The loop of a chain; None where what differs is neither in the file of weights nor a number."""
    columns = list(zip(*(call.arguments for call in calls), strict=True))
    items = _Items(module, _first_number(columns, place))
    names = [call.define.wanted for call in calls]
    define = replace(calls[-1].define, wanted=names[0] if len({*names}) == 1 else stem(names) or "x")
    arguments = [define.token if number == place else _argument(column, items) for number, column in enumerate(columns)]
    if not all(arguments) or not items.columns:
        return None
    step = f"{calls[0].name}({', '.join(arguments)})"
    variables, rows = tuple(items.columns.values()), list(zip(*items.columns, strict=True))
    over = tuple_text([row[0] if len(row) == 1 else tuple_text(list(row)) for row in rows])
    if items.first is not None:
        over = f"range({f'{items.first}, ' if items.first else ''}{items.first + len(calls)})"
    return Loop(define, calls[0].arguments[place], variables, over, step)


def _argument(column: tuple[str, ...], items: _Items) -> str:
    """An argument of each step; "" where no expression of the items gives it."""
    if len({*column}) == 1:
        return column[0]
    if all(map(_is_stored, column)):
        paths = [path_of(text) for text in column]
        if len({*map(len, paths)}) > 1 or len({*map(root_of, column)}) > 1:
            return ""
        keys = [items.key(tuple(level)) for level in zip(*paths, strict=True)]
        return root_of(column[0]) + "".join(f"[{key}]" for key in keys)
    return items.variable(column, "number") if all(map(is_literal, column)) else ""


def _is_stored(text: str) -> bool:
    return is_stored(ast.parse(text, mode="eval").body)


def _first_number(columns: Sequence[tuple[str, ...]], place: int) -> int | None:
    """The number that the first step has, where all that differs are keys that are counted from it."""
    starts = set[int | None]()
    for number, column in enumerate(columns):
        if number == place or len({*column}) == 1:
            continue
        paths = [path_of(text) if _is_stored(text) else [] for text in column]
        if not all(paths) or len({*map(len, paths)}) > 1:
            return None
        for level in zip(*paths, strict=True):
            if len({*level}) > 1:
                parts = _count_up(tuple(level))
                starts.add(None if parts is None else parts[1])
    return next(iter(starts)) if len(starts) == 1 else None


def _count_up(column: Sequence[str]) -> tuple[str, int, str] | None:
    """The texts around numbers that increase by one, and the first number; None for other texts."""
    matches = [_NUMBERED.fullmatch(text) for text in column]
    if not all(matches):
        return None
    parts = [(match[1], int(match[2]), match[3]) for match in matches if match]
    start, first, end = parts[0]
    return parts[0] if parts == [(start, first + k, end) for k in range(len(parts))] else None
