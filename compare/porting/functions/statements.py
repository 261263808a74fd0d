"""Statements whose variables are numbered, and the names that these get once all is written."""

from __future__ import annotations

import builtins
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compare.porting.identifiers import OF_FILES, identifier

TOKEN = re.compile(r"\bv__(\d+)\b")
RESERVED = (
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
      nest: these as they stand before the sign; "" where they stand side by side.
      folds: whether the expression may stand where it is read, instead of the variable.
      within: the user's functions or scopes that it comes from, outermost first.
    """

    text: str
    defines: tuple[Variable, ...] = ()
    comment: str = ""
    nest: str = ""
    folds: bool = field(default=False, repr=False)
    within: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Definition:
    """A function in a function, which reads variables of that.

    Attributes:
      name: of it.
      parameters: of it.
      body: its statements.
      result: the expression that it returns.
      first: what stands before its parameters: one whose name is fixed, with its type.
    """

    name: Variable
    parameters: tuple[Variable, ...]
    body: tuple[Statement, ...]
    result: str
    first: str = ""


@dataclass(frozen=True)
class Loop:
    """A loop of Python, each of whose steps is given what the step before it returned.

    Attributes:
      define: the variable that each step assigns to.
      initial: the expression that it has before the first step.
      indices: what the loop goes over, by step.
      over: the expression of that.
      step: the expression of a step, which reads the variable.
    """

    define: Variable
    initial: str
    indices: tuple[Variable, ...]
    over: str
    step: str


Statement = Line | Definition | Loop


def read(statement: Statement) -> set[str]:
    """The variables that a statement reads or defines."""
    if isinstance(statement, Loop):
        texts = " ".join((statement.initial, statement.over, statement.step))
        return {match[0] for match in TOKEN.finditer(texts)} | {statement.define.token}
    if isinstance(statement, Line):
        return {match[0] for match in TOKEN.finditer(statement.text)} | {
            variable.token for variable in statement.defines
        }
    tokens = {match[0] for match in TOKEN.finditer(statement.result)}
    return tokens.union(*map(read, statement.body)) if statement.body else tokens


def defined_tokens(statement: Statement) -> set[str]:
    """The variables that a statement defines, where it stands."""
    return {variable.token for variable in variables_of(statement)}


def variables_of(statement: Statement) -> tuple[Variable, ...]:
    """The variables in order."""
    if isinstance(statement, Line):
        return statement.defines
    return (statement.name if isinstance(statement, Definition) else statement.define,)


def inner_tokens(statement: Statement) -> list[str]:
    """The variables that a statement and all in it define, in order."""
    if not isinstance(statement, Definition):
        return [variable.token for variable in variables_of(statement)]
    parameters = [variable.token for variable in statement.parameters]
    return [statement.name.token, *parameters, *(token for inner in statement.body for token in inner_tokens(inner))]


def render(
    statements: Sequence[Statement],
    result: str,
    names: Mapping[str, str],
    names_reserved: Sequence[str],
    own: Sequence[str] = (),
) -> list[str]:
    """The lines of a body with its return, without those that define what nothing reads.

    Args:
      result: the expression that it returns; "" of none.
      names: of the variables that are there, by token.
      names_reserved: names that are taken for the module; calls of these stay.
      own: of the variables that are there, those of this body alone, whose names may be given anew.
    """
    lines, (text,) = render_results(statements, (result,), names, names_reserved, own)
    return [*lines, f"return {text}"] if result else lines


def render_results(
    statements: Sequence[Statement],
    results: Sequence[str],
    names: Mapping[str, str],
    names_reserved: Sequence[str],
    own: Sequence[str] = (),
) -> tuple[list[str], list[str]]:
    """The lines of a body, as of `render`, and the expressions of its results.

    Args:
      names: of the variables that are there, by token.
    """
    result = " ".join(results)
    statements = without_unread(statements, result, names_reserved) if result.strip() else statements
    last = _last_uses(statements, result)
    alive, lines = dict(names), list[str]()
    outer = frozenset(names) - {*own}
    for index, statement in enumerate(statements):
        if isinstance(statement, Definition):
            alive[statement.name.token] = free_name(statement.name.wanted, alive.values(), names_reserved)
            lines += _definition(statement, alive, names_reserved)
            continue
        dying = [token for token in alive if token not in outer and last.get(token, -1) <= index]
        if isinstance(statement, Loop):
            name, loop_lines = _loop(statement, alive, dying, names_reserved)
            alive = {token: alive[token] for token in alive if token not in dying} | {statement.define.token: name}
            lines += loop_lines
            continue
        text = _with_names(statement.text, alive)
        for token in dying:
            alive.pop(token, None)
        for variable in statement.defines:
            alive[variable.token] = free_name(variable.wanted, alive.values(), names_reserved)
        targets = _with_names(statement.nest, alive) or ", ".join(alive[one.token] for one in statement.defines)
        comment = f"  # {statement.comment}" if statement.comment else ""
        lines.append(f"{targets} = {text}{comment}" if targets else f"{text}{comment}")
    return lines, [_with_names(expression, alive) for expression in results]


def without_unread(statements: Sequence[Statement], result: str, names_reserved: Sequence[str]) -> list[Statement]:
    """Statements without those that define what nothing reads."""
    tokens = {match[0] for match in TOKEN.finditer(result)}
    remaining: list[Statement] = []
    for statement in reversed(statements):
        if isinstance(statement, Definition):
            if statement.name.token in tokens:
                body = without_unread(statement.body, statement.result, names_reserved)
                remaining.append(replace(statement, body=tuple(body)))
                tokens |= read(remaining[-1])
        elif isinstance(statement, Loop):
            if statement.define.token in tokens:
                remaining.append(statement)
                tokens |= read(statement)
        elif (
            not statement.defines
            or tokens & {one.token for one in statement.defines}
            or any(statement.text.startswith(f"{name}(") for name in names_reserved)
        ):
            remaining.append(statement)
            tokens |= {match[0] for match in TOKEN.finditer(statement.text)}
    return remaining[::-1]


def _definition(definition: Definition, alive: Mapping[str, str], names_reserved: Sequence[str]) -> list[str]:
    inner = dict(alive)
    for parameter in definition.parameters:
        inner[parameter.token] = free_name(parameter.wanted, inner.values(), names_reserved)
    parameters = (f"{inner[parameter.token]}: Any" for parameter in definition.parameters)
    parameters_text = ", ".join(filter(None, (definition.first, *parameters)))
    body = render(
        definition.body,
        definition.result,
        inner,
        names_reserved,
        [parameter.token for parameter in definition.parameters],
    )
    return [
        "",
        f"def {alive[definition.name.token]}({parameters_text}) -> Any:",
        *(textwrap.indent(line, "    ") for line in body),
        "",
    ]


def _loop(
    loop: Loop, alive: Mapping[str, str], dying: Sequence[str], names_reserved: Sequence[str]
) -> tuple[str, list[str]]:
    """The name of what the steps of a loop assign to, and its lines."""
    # A step reads all others to the end, so that only the name of what it begins with may be given anew.
    is_free = loop.initial in dying and loop.initial not in {match[0] for match in TOKEN.finditer(loop.step)}
    names = {token: name for token, name in alive.items() if not (is_free and token == loop.initial)}
    for variable in (loop.define, *loop.indices):
        names[variable.token] = free_name(variable.wanted, names.values(), names_reserved)
    name, initial = names[loop.define.token], _with_names(loop.initial, alive)
    targets = ", ".join(names[one.token] for one in loop.indices)
    lines = [f"for {targets} in {loop.over}:", f"    {name} = {_with_names(loop.step, names)}"]
    return name, lines if name == initial else [f"{name} = {initial}", *lines]


def _last_uses(statements: Sequence[Statement], result: str) -> dict[str, int]:
    last: dict[str, int] = {}
    for index, statement in enumerate(statements):
        last |= dict.fromkeys(read(statement), index)
    last |= {match[0]: len(statements) for match in TOKEN.finditer(result)}
    # What an inner function reads is read when that is called.
    for statement in reversed(statements):
        if isinstance(statement, Definition):
            last_call = last.get(statement.name.token, 0)
            last |= {token: max(last[token], last_call) for token in read(statement) if token in last}
    return last


def _with_names(text: str, names: Mapping[str, str]) -> str:
    return TOKEN.sub(lambda match: names[match[0]], text)


def free_name(wanted_name: str, names_taken: Iterable[str], names_reserved: Iterable[str]) -> str:
    """The identifier, or with the first number that makes it new."""
    base = identifier(wanted_name, "value")
    names_used = {*names_taken, *names_reserved, *RESERVED}
    name, number = base, 1
    while name in names_used:
        number += 1
        name = f"{base}_{number}"
    return name
