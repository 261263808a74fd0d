"""A helper function of the copies of a piece, and the calls that stand in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.porting.functions.helper_names import common_scopes
from compare.porting.functions.helper_parameters import Copy, Parameter, Parameters, WantedNames, common_name
from compare.porting.functions.holes import TENSOR, Element, Hole, fill_holes
from compare.porting.functions.statements import (
    Definition,
    Line,
    Statement,
    Variable,
    defined_tokens,
    inner_tokens,
    variables_of,
)
from workloads.protocol.function_graph import Result


@dataclass
class Code:
    """Statements and what they return.

    Attributes:
      statements: in order.
      results: expressions.
    """

    statements: list[Statement]
    results: list[str]


@dataclass
class Helper:
    """A function that several calls stand for.

    Attributes:
      name: of it.
      parameters: of it.
      code: its body.
      takes: types of its parameters that are arrays, by token.
      gives: types of what it returns; None of what is no array.
    """

    name: str
    parameters: Sequence[Parameter]
    code: Code
    takes: Mapping[str, Result]
    gives: Sequence[Result | None]


def make_helper(name: str, parameters: Parameters) -> tuple[Helper, list[Line]]:
    """The helper function of the copies of a piece, and the call for each of them."""
    names, copies = parameters.names, parameters.copies
    types, every = names.module.types, parameters.all
    code = _body(parameters)
    by_token = {one.variable.token: _type(types, one.arguments) for one in every}
    takes = {token: result for token, result in by_token.items() if result is not None}
    types |= takes
    names.wanted |= {one.variable.token: one.variable.wanted for one in every}
    gives = [_type(types, column) for column in zip(*(copy.results for copy in copies), strict=True)]
    calls = [_call(name, every, copy, k, names) for k, copy in enumerate(copies)]
    return Helper(name, every, code, takes, gives), calls


def _type(types: Mapping[str, Result], column: Sequence[str]) -> Result | None:
    """The type of what is an array in each copy; sizes that differ are not fixed."""
    results = [types.get(token) for token in column]
    first = results[0]
    if first is None or any(one is None or one.dtype != first.dtype for one in results):
        return None
    follows = all(one is not None and one.follows for one in results)
    shapes = [one.shape for one in results if one is not None and one.shape is not None]
    if len({*map(len, shapes)}) != 1 or len(shapes) < len(results):
        return Result(first.dtype, None, follows)
    sizes = (sizes[0] if len({*sizes}) == 1 else None for sizes in zip(*shapes, strict=True))
    return Result(first.dtype, tuple(sizes), follows)


def _body(parameters: Parameters) -> Code:
    """The statements of the first copy, with parameters and new variables."""
    copies, rename, names = parameters.copies, parameters.rename, parameters.names
    remaining, statements = iter(parameters.texts()), list[Statement]()
    for column in zip(*(copy.elements for copy in copies), strict=True):
        statement = _fill(column[0], remaining, rename)
        if isinstance(statement, Line):
            # Only what is around a copy reads its result several times.
            is_result = {*copies[0].results} == defined_tokens(column[0].statement)
            statement = replace(
                statement, defines=_common(column, statement, names), folds=statement.folds or is_result
            )
        statements.append(statement)
    names.note(statements)
    types = names.module.types
    for tokens in zip(*(copy.bound for copy in copies), strict=True):
        result = _type(types, tokens)
        types |= {rename[tokens[0]]: result} if result is not None else {}
    return Code(statements, [rename[token] for token in copies[0].results])


def _fill(element: Element, remaining: Iterator[str], rename: Mapping[str, str]) -> Statement:
    """A statement of the first copy with what stands in its holes; what is only within it has new tokens."""
    inner = {*inner_tokens(element.statement)} if isinstance(element.statement, Definition) else set[str]()

    def fill(hole: Hole) -> str:
        return hole.text.replace(hole.token, rename[hole.token]) if hole.token in inner else next(remaining)

    return fill_holes(element.statement, fill, rename)


def _common(column: Sequence[Element], line: Line, names: WantedNames) -> tuple[Variable, ...]:
    """The variables that a line defines, with the names of all copies: without a number that only one copy has."""
    copies = zip(*(variables_of(element.statement) for element in column), strict=True)
    wanted_names = [common_name([one.wanted for one in copy], names.defaults) or "value" for copy in copies]
    return tuple(replace(one, wanted=name) for one, name in zip(line.defines, wanted_names, strict=True))


def _call(name: str, parameters: Sequence[Parameter], copy: Copy, number: int, names: WantedNames) -> Line:
    """The call for a copy; where the user has no name for what it gives, that is called as what it takes."""
    arguments = [parameter.arguments[number] for parameter in parameters]
    tensors = [parameter.arguments[number] for parameter in parameters if parameter.kind == TENSOR]
    first = next((names.wanted.get(token, "") for token in tensors), "")
    statements = {token: element.statement for element in copy.elements for token in defined_tokens(element.statement)}
    variables = [next(one for one in variables_of(statements[token]) if one.token == token) for token in copy.results]
    if len(variables) == 1 and variables[0].wanted in names.defaults and first:
        variables = [replace(variables[0], wanted=first)]
    names.wanted |= {one.token: one.wanted for one in variables}
    folds = all(isinstance(one, Line) and one.folds for one in (statements[token] for token in copy.results))
    text = f"{name}({', '.join(arguments)})"
    return Line(text, tuple(variables), folds=folds, within=common_scopes(copy.elements))
