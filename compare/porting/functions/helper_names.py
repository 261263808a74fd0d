"""Names helper functions: after the user's functions or scopes, or else after the scopes of their weights."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile

from compare.porting.functions.helper_parameters import Parameter, path_of, root_of, stem
from compare.porting.functions.holes import CONSTANTS, STORED, Element
from compare.porting.functions.statements import Line
from compare.porting.identifiers import identifier

_SMALL = 10
"""Up to so many statements are a layer, more are a block."""

_MOST = 0.75
"""The share of a piece that comes from the function or scope that it is named after."""

_TRACED = re.compile(r"^_*(inference|forward|backward)_|_\d+$")
_NO_NAMES = frozenset(
    {"", "call", "__call__", "forward", "<lambda>", "<module>", "<listcomp>", "<genexpr>", "<dictcomp>"}
)
_CONVERTED = "tf__"
"""Before the name of a function that AutoGraph wrote anew."""


def called_name(name: str) -> str:
    """The name of a function that is called, without what tracing adds: "__inference_scaled_45" -> "scaled"."""
    plain = _TRACED.sub("", _TRACED.sub("", name))
    return identifier(plain.removeprefix(_CONVERTED).lower(), "inner")


def piece_name(
    copies: Sequence[Sequence[Element]], parameters: Sequence[Parameter], names_taken: Collection[str]
) -> str:
    """The name of a piece.

    Args:
      names_taken: names that it does not get.
    """
    scopes = [
        parameter.arguments
        for parameter in parameters
        if parameter.kind == STORED and parameter.annotation == "Any" and root_of(parameter.arguments[0]) != CONSTANTS
    ]
    words = (
        _word([_most_scope(copy) for copy in copies]),
        _word([_around(copy) for copy in copies]),
        stem([path_of(text)[-1] for text in scopes[0]]) if len(scopes) == 1 else "",
        "layer" if len(copies[0]) <= _SMALL else "block",
    )
    return next((word for word in words if word and word not in names_taken), "piece")


def _word(scopes: Sequence[str]) -> str:
    return "" if {*scopes} & _NO_NAMES else stem([scope.removeprefix(_CONVERTED) for scope in scopes])


def _around(elements: Sequence[Element]) -> str:
    """The innermost function or scope that all of a piece comes from, but the outermost one, which is all of it."""
    scopes = common_scopes(elements)
    return scopes[-1] if len(scopes) > 1 else ""


def _most_scope(elements: Sequence[Element]) -> str:
    """The innermost function or scope that most of a piece comes from."""
    inner = [
        one.statement.within[-1]
        for one in elements
        if isinstance(one.statement, Line) and len(one.statement.within) > 1
    ]
    scope, count = max(Counter(inner).items(), key=lambda pair: pair[1], default=("", 0))
    return scope if count >= _MOST * len(elements) else ""


def common_scopes(elements: Iterable[Element]) -> tuple[str, ...]:
    """The functions or scopes that all lines come from."""
    every = [one.statement.within for one in elements if isinstance(one.statement, Line)]
    alike = takewhile(lambda names: len({*names}) == 1, zip(*every, strict=False))
    return tuple(names[0] for names in alike)
