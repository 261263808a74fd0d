"""Finds the parameters of a helper function: what differs between the copies of a piece, and their outer variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from compare.porting.functions.holes import CONSTANTS, NUMBER, SIZE, STORED, TENSOR, WEIGHTS, Element, Hole
from compare.porting.functions.statements import Statement, Variable, inner_tokens, variables_of
from compare.porting.functions.written_module import Module
from compare.porting.identifiers import identifier

_MOST_NUMBERS, _MOST_PARAMETERS = 4, 16
"""The most differing numbers and sizes, and the most parameters, of a helper function."""

_KINDS = (TENSOR, STORED, NUMBER, SIZE)
"""The order of parameters."""


@dataclass(frozen=True)
class Copy:
    """One copy of a piece.

    Attributes:
      elements: its statements.
      results: the variables that it defines and others read.
    """

    elements: tuple[Element, ...]
    results: tuple[str, ...]

    @property
    def holes(self) -> list[Hole]:
        """All holes, in order."""
        return [hole for element in self.elements for hole in element.holes]

    @property
    def bound(self) -> list[str]:
        """All variables that it defines, those that are only within one of its functions too."""
        return [token for element in self.elements for token in inner_tokens(element.statement)]

    @property
    def local(self) -> set[int]:
        """The numbers of the variables that it defines."""
        return {number for element in self.elements for number in element.step.writes}

    @property
    def inputs(self) -> list[str]:
        """The variables that it reads and others define, in the order of the first reads."""
        mine = self.local
        tensors = dict.fromkeys(hole.token for hole in self.holes if hole.kind == TENSOR)
        return [token for token in tensors if int(token.removeprefix("v__")) not in mine]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a helper function.

    Attributes:
      variable: itself.
      kind: of what it stands for.
      annotation: its type.
      arguments: what each copy gives for it.
    """

    variable: Variable
    kind: str
    annotation: str
    arguments: tuple[str, ...]


@dataclass
class WantedNames:
    """The wanted names of variables.

    Attributes:
      module: that they are in.
      wanted: by token.
      defaults: names that variables have of operations, where the user has none for them.
    """

    module: Module
    wanted: dict[str, str]
    defaults: Collection[str]

    def note(self, statements: Iterable[Statement]) -> None:
        """Remember what statements define."""
        self.wanted |= {one.token: one.wanted for statement in statements for one in variables_of(statement)}


@dataclass
class Parameters:
    """The parameters of a piece, which are found while its holes are filled.

    Attributes:
      names: what variables are to be called.
      copies: of the piece.
      rename: new tokens of what the piece defines, by the token of the first copy.
    """

    names: WantedNames
    copies: Sequence[Copy]
    rename: Mapping[str, str]
    _found: dict[tuple[str, ...], Parameter] = field(default_factory=dict)
    _texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._inputs = list(zip(*(copy.inputs for copy in self.copies), strict=True))
        for column in self._inputs:
            arrays = all(token in self.names.module.types for token in column)
            wanted_names = [self.names.wanted.get(token, "x") for token in column]
            name = common_name(wanted_names, self.names.defaults) or "x"
            self._add(TENSOR, column, name, "jax.Array" if arrays else "Any")
        columns = list(zip(*(copy.holes for copy in self.copies), strict=True))
        self._scopes = _scopes([column for column in columns if column[0].kind == STORED])
        self._texts = [self._resolve(column) for column in columns]

    @property
    def all(self) -> list[Parameter]:
        """Every parameter, in order."""
        return sorted(self._found.values(), key=lambda parameter: _KINDS.index(parameter.kind))

    @property
    def are_few(self) -> bool:
        """Whether a function with so many parameters says more than its copies."""
        numbers = sum(parameter.kind in (NUMBER, SIZE) for parameter in self._found.values())
        return numbers <= _MOST_NUMBERS and len(self._found) <= _MOST_PARAMETERS

    def texts(self) -> list[str]:
        """The texts for the holes of the helper function, in order."""
        return self._texts

    def _add(self, kind: str, column: tuple[str, ...], wanted_name: str, annotation: str) -> str:
        if column not in self._found:
            variable = Variable(self.names.module.token(), wanted_name)
            self._found[column] = Parameter(variable, kind, annotation, column)
        return self._found[column].variable.token

    def _resolve(self, column: Sequence[Hole]) -> str:
        first, texts = column[0], tuple(hole.text for hole in column)
        if first.token in self.rename:
            return first.text.replace(first.token, self.rename[first.token])
        if first.kind == TENSOR:
            return self._found[texts].variable.token
        if first.kind == SIZE:
            return self._size(column, texts)
        if first.kind == STORED:
            return self._array(texts)
        if len({*texts}) == 1:
            return first.text
        kinds = {type(ast.literal_eval(text)) for text in texts}
        annotation = {frozenset({int}): "int", frozenset({float}): "float", frozenset({int, float}): "float"}
        return self._add(NUMBER, texts, "number", annotation.get(frozenset(kinds), "Any"))

    def _size(self, column: Sequence[Hole], texts: tuple[str, ...]) -> str:
        """A size or type of what is not defined in the piece: of what it takes, where it is that in each copy."""
        ending = column[0].text.removeprefix(column[0].token)
        for tokens in self._inputs:
            own = tuple(hole.token for hole in column) == tokens
            # Whatever follows the float type of the inputs has it.
            follows = texts == (self.names.module.follows,) * len(texts) and all(map(self._follows, tokens))
            if own or follows:
                return f"{self._found[tokens].variable.token}{ending}"
        is_type = texts[0].endswith(".dtype")
        return self._add(SIZE, texts, "dtype" if is_type else "size", "Any" if is_type else "int")

    def _follows(self, token: str) -> bool:
        result = self.names.module.types.get(token)
        return result is not None and result.follows and not result.dtype.startswith("complex")

    def _array(self, texts: tuple[str, ...]) -> str:
        if root_of(texts[0]) == CONSTANTS and len({*texts}) == 1:
            return texts[0]
        scope, rest = self._scopes[texts]
        if not rest:
            if root_of(texts[0]) == CONSTANTS:
                return self._add(STORED, texts, "constant", "Any")
            return self._add(STORED, texts, _stem(texts, "weight"), "jax.Array")
        several = len({other for other, end in self._scopes.values() if end}) > 1
        word = stem([path_of(text)[-1] for text in scope]) if several else ""
        # The name alone is that of what a layer returns.
        wanted_name = f"{word}_weights" if word else "weights"
        return self._add(STORED, scope, wanted_name, "Any") + rest


def _scopes(columns: Sequence[Sequence[Hole]]) -> dict[tuple[str, ...], tuple[tuple[str, ...], str]]:
    """For each column of weights, the scopes that are handed over in its place, and what is then read of these."""
    vectors = dict.fromkeys(tuple(hole.text for hole in column) for column in columns)
    split = {vector: _split(vector) for vector in vectors}
    scopes = [scope for scope, _ in split.values()]
    # A scope of which one weight is read says less than the weight.
    return {
        vector: (scope, rest) if scopes.count(scope) > 1 else (vector, "") for vector, (scope, rest) in split.items()
    }


def _split(vector: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The scopes that differ, and the end that the paths of all copies have."""
    paths = [path_of(text) for text in vector]
    # A parameter may be handed over whole; of all weights, only a part.
    longest = min(map(len, paths)) - (root_of(vector[0]) == WEIGHTS)
    if len({*vector}) == 1:
        count = min(1, longest)
    else:
        alike = takewhile(lambda keys: len({*keys}) == 1, zip(*(path[::-1] for path in paths), strict=False))
        count = min(len(list(alike)), longest)
    roots = {root_of(text) for text in vector}
    if count < 1 or len(roots) > 1 or CONSTANTS in roots:
        return vector, ""
    return tuple(root_of(vector[0]) + keys_text(path[:-count]) for path in paths), keys_text(paths[0][-count:])


def path_of(text: str) -> list[str]:
    """The keys by which a weight or a constant is read.

    Args:
      text: `weights["dense"]["kernel"]`.
    """
    node, keys = ast.parse(text, mode="eval").body, list[str]()
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        keys.insert(0, str(node.slice.value))
        node = node.value
    return keys


def root_of(text: str) -> str:
    """The text of the mapping that it is a key of."""
    return text.partition("[")[0]


def keys_text(path: Sequence[str]) -> str:
    """Keys as they stand behind what they are of."""
    return "".join(f"[{key!r}]" for key in path)


_NUMBER = re.compile(r"[_.-]?\d+$")


def stem(names: Sequence[str]) -> str:
    """The common part of names that differ by the number at their end; "" for others."""
    stems = {_NUMBER.sub("", name) for name in names}
    name = stems.pop() if len(stems) == 1 else ""
    return identifier(name.lower(), "") if re.search("[A-Za-z]", name) else ""


def common_name(names: Sequence[str], defaults: Collection[str]) -> str:
    """The name of a variable in all copies, without a number that only one has; "" if they differ.

    Args:
      names: by copy.
    """
    users = [name for name in names if name not in defaults] or names
    return users[0] if len({*users}) == 1 else stem(users)


def _stem(texts: Sequence[str], otherwise: str) -> str:
    return stem([path_of(text)[-1] for text in texts]) or otherwise
