"""Statements whose variables are numbered, and the names that these get once all is written."""

from __future__ import annotations

import builtins
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compare.porting.identifiers import OF_FILES, identifier

TOKEN = re.compile(r"\bv__(\d+)\b")
_RESERVED = (
    OF_FILES | {"np", "lax", "CONSTANTS", "weights", "dtype", "elementwise", "indexing"} | frozenset(dir(builtins))
)


@dataclass(frozen=True)
class Variable:
    """A variable, by the number that its text has: v__3.

    Attributes:
      token: that text.
      wanted: what it is to be called.
    """

    token: str
    wanted: str


@dataclass(frozen=True)
class Line:
    """An assignment, or a comment where it assigns nothing.

    Attributes:
      text: an expression.
      defines: what it is assigned to.
      comment: that stands behind it.
    """

    text: str
    defines: tuple[Variable, ...] = ()
    comment: str = ""


@dataclass(frozen=True)
class Definition:
    """A function in a function, which reads variables of that.

    Attributes:
      name: of it.
      parameters: of it.
      body: its statements.
      result: the expression that it returns.
    """

    name: Variable
    parameters: tuple[Variable, ...]
    body: tuple[Statement, ...]
    result: str


Statement = Line | Definition


def read(statement: Statement) -> set[str]:
    """The variables that a statement reads or defines."""
    if isinstance(statement, Line):
        return {each[0] for each in TOKEN.finditer(statement.text)} | {each.token for each in statement.defines}
    found = {each[0] for each in TOKEN.finditer(statement.result)}
    return found.union(*map(read, statement.body)) if statement.body else found


def rendered(
    statements: Sequence[Statement],
    result: str,
    names: Mapping[str, str],
    reserved: Sequence[str],
    own: Sequence[str] = (),
) -> list[str]:
    """The lines of a body with its return.

    Args:
      statements: in order.
      result: the expression that it returns; "" of none.
      names: of the variables that are there, by token.
      reserved: names that are taken for the module.
      own: of the variables that are there, those of this body alone, whose names may be given anew.
    """
    last = _last_uses(statements, result)
    alive, lines = dict(names), list[str]()
    outer = frozenset(names) - {*own}
    for at, statement in enumerate(statements):
        if isinstance(statement, Definition):
            alive[statement.name.token] = _free(statement.name.wanted, alive.values(), reserved)
            lines += _definition(statement, alive, reserved)
            continue
        text = _named(statement.text, alive)
        dying = [token for token in alive if token not in outer and last.get(token, -1) <= at]
        for token in dying:
            alive.pop(token, None)
        for each in statement.defines:
            alive[each.token] = _free(each.wanted, alive.values(), reserved)
        assigned = ", ".join(alive[each.token] for each in statement.defines)
        comment = f"  # {statement.comment}" if statement.comment else ""
        lines.append(f"{assigned} = {text}{comment}" if assigned else f"{text}{comment}")
    return [*lines, f"return {_named(result, alive)}"] if result else lines


def _definition(made: Definition, alive: Mapping[str, str], reserved: Sequence[str]) -> list[str]:
    inner = dict(alive)
    for each in made.parameters:
        inner[each.token] = _free(each.wanted, inner.values(), reserved)
    given = ", ".join(f"{inner[each.token]}: Any" for each in made.parameters)
    body = rendered(made.body, made.result, inner, reserved, [each.token for each in made.parameters])
    return ["", f"def {alive[made.name.token]}({given}) -> Any:", *(textwrap.indent(each, "    ") for each in body), ""]


def _last_uses(statements: Sequence[Statement], result: str) -> dict[str, int]:
    last: dict[str, int] = {}
    for at, statement in enumerate(statements):
        last |= dict.fromkeys(read(statement), at)
    last |= {each[0]: len(statements) for each in TOKEN.finditer(result)}
    # What an inner function reads is read when that is called.
    for statement in reversed(statements):
        if isinstance(statement, Definition):
            called = last.get(statement.name.token, 0)
            last |= {token: max(last[token], called) for token in read(statement) if token in last}
    return last


def _named(text: str, names: Mapping[str, str]) -> str:
    return TOKEN.sub(lambda found: names[found[0]], text)


def _free(wanted: str, taken: Iterable[str], reserved: Iterable[str]) -> str:
    """The identifier, or with the first number that makes it new."""
    base = identifier(wanted, "value")
    used = {*taken, *reserved, *_RESERVED}
    found, number = base, 1
    while found in used:
        number += 1
        found = f"{base}_{number}"
    return found
