"""Statements with holes: what may differ between two copies of a piece, and the code around it, which may not."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.porting.functions.statements import TOKEN, Definition, Line, Loop, Statement, inner_tokens, variables_of
from compare.porting.repeats import Step

TENSOR, SIZE, STORED, NUMBER = "tensor", "size", "stored", "number"
WEIGHTS, CONSTANTS = "weights", "CONSTANTS"
STORES = (WEIGHTS, CONSTANTS)
"""The names of mappings with arrays in a written module, besides parameters of helper functions."""


@dataclass(frozen=True)
class Hole:
    """An expression in a statement that another copy may have another one for.

    Attributes:
      kind: a variable, a size or type of one, an array of a file, or numbers.
      text: the expression.
      token: the variable, or the one whose size or type it is; "" where it is none.
    """

    kind: str
    text: str
    token: str = ""


Fill = Callable[[Hole], str]
"""The expression that is put in the place of a hole."""


def fill_holes(statement: Statement, fill: Fill, rename: Mapping[str, str]) -> Statement:
    """A statement with other expressions in its holes.

    Args:
      fill: is asked for each hole, in order.
      rename: new tokens of what it defines, by token.
    """
    if isinstance(statement, Line):
        defines = tuple(replace(one, token=rename.get(one.token, one.token)) for one in statement.defines)
        nest = TOKEN.sub(lambda match: rename.get(match[0], match[0]), statement.nest)
        return replace(statement, text=fill_text(statement.text, fill), defines=defines, nest=nest)
    if isinstance(statement, Loop):
        raise TypeError("expected statements in which no call is a loop yet")
    return replace(
        statement,
        name=replace(statement.name, token=rename.get(statement.name.token, statement.name.token)),
        parameters=tuple(replace(one, token=rename.get(one.token, one.token)) for one in statement.parameters),
        body=tuple(fill_holes(inner, fill, rename) for inner in statement.body),
        result=fill_text(statement.result, fill),
    )


def fill_text(text: str, fill: Fill) -> str:
    """An expression with other expressions in its holes.

    Args:
      fill: is asked for each hole, in order.
    """
    return ast.unparse(ast.fix_missing_locations(_Filling(fill).visit(ast.parse(text, mode="eval"))))


class _Filling(ast.NodeTransformer):
    def __init__(self, fill: Fill) -> None:
        self._fill = fill

    def visit(self, node: ast.AST) -> ast.AST:
        hole = _hole(node) if isinstance(node, ast.expr) else None
        return self.generic_visit(node) if hole is None else ast.parse(self._fill(hole), mode="eval").body


def _hole(node: ast.expr) -> Hole | None:
    if isinstance(node, ast.Name):
        return Hole(TENSOR, node.id, node.id) if TOKEN.fullmatch(node.id) else None
    if is_stored(node):
        return Hole(STORED, ast.unparse(node))
    if _is_number(node):
        return Hole(NUMBER, ast.unparse(node))
    whole = node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else node
    name = "dtype" if whole is node else "shape"
    if isinstance(whole, ast.Attribute) and whole.attr == name and isinstance(whole.value, ast.Name):
        token = whole.value.id
        return Hole(SIZE, ast.unparse(node), token) if TOKEN.fullmatch(token) else None
    return None


def is_stored(node: ast.expr) -> bool:
    """Whether it is a weight or a constant by its name."""
    depth = 0
    while (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    ):
        node, depth = node.value, depth + 1
    return depth > 0 and isinstance(node, ast.Name) and bool(node.id in STORES or TOKEN.fullmatch(node.id))


def is_literal(text: str) -> bool:
    """Whether an expression is a number, or a tuple or list of some."""
    return _is_number(ast.parse(text, mode="eval").body)


def _is_number(node: ast.expr) -> bool:
    """Whether it is a number, or a tuple or list of some."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(_is_number, node.elts))
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


@dataclass(frozen=True)
class Element:
    """A statement as a step of the search.

    Attributes:
      statement: itself.
      step: in which two copies are equal if their code is equal.
      holes: of it, in order, without those of variables that are only within it.
    """

    statement: Statement
    step: Step
    holes: tuple[Hole, ...]


def element(statement: Statement, *, with_numbers: bool) -> Element:
    """A statement as a step of the search.

    Args:
      with_numbers: whether copies must have the same numbers.
    """
    if isinstance(statement, Line) and not statement.defines:
        return Element(statement, BARRIER, ())
    inner = inner_tokens(statement) if isinstance(statement, Definition) else []
    local_names = {token: f"l__{number}" for number, token in enumerate(inner)}
    holes: list[Hole] = []

    def fill(hole: Hole) -> str:
        if hole.token in local_names:
            return hole.text.replace(hole.token, local_names[hole.token])
        holes.append(hole)
        if hole.kind == SIZE:
            return f"h__{hole.text.removeprefix(hole.token)}"
        return hole.text if with_numbers and hole.kind == NUMBER else f"h__{hole.kind}"

    shape = repr(_without_names(fill_holes(statement, fill, local_names)))
    return Element(
        statement,
        Step(
            shape=shape,
            reads=tuple(number_of(hole.token) for hole in holes if hole.kind == TENSOR),
            writes=tuple(number_of(one.token) for one in variables_of(statement)),
            sizes_of=tuple(number_of(hole.token) for hole in holes if hole.kind == SIZE),
        ),
        tuple(holes),
    )


BARRIER = Step("", (), ())
"""A step that no piece contains."""


def _without_names(statement: Statement) -> tuple[object, ...]:
    """The parts of a statement that have to be equal in two copies: all but names and sources of variables."""
    if not isinstance(statement, Definition):
        assert isinstance(statement, Line)
        places = {one.token: f"d__{number}" for number, one in enumerate(statement.defines)}
        defines = tuple(one.token if one.token.startswith("l__") else "" for one in statement.defines)
        nest = re.sub(r"\b[vl]__\d+\b", lambda match: places.get(match[0], match[0]), statement.nest)
        return statement.text, statement.comment, nest, defines
    tokens = tuple(one.token for one in (statement.name, *statement.parameters))
    return tokens, tuple(map(_without_names, statement.body)), statement.result, statement.first


def number_of(token: str) -> int:
    """The number of a variable."""
    return int(token.removeprefix("v__"))


def segment_key(elements: Sequence[Element]) -> tuple[object, ...]:
    """A key that is equal for two segments with the same code and the same connections."""
    places: dict[int, object] = {}
    inputs: dict[int, int] = {}
    key: list[object] = []
    for offset, one in enumerate(elements):
        for number in one.step.reads:
            if number not in places:
                inputs.setdefault(number, len(inputs))
        reads = tuple(places.get(number, inputs.get(number)) for number in one.step.reads)
        key.append((one.step.shape, reads, tuple(places.get(number) for number in one.step.sizes_of)))
        places |= {number: (offset, index) for index, number in enumerate(one.step.writes)}
    return tuple(key)
