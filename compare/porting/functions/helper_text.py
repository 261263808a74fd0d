"""The text of a helper function."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from compare.porting.functions.helper_making import Helper
from compare.porting.functions.holes import TENSOR
from compare.porting.functions.statements import free_name, render
from compare.porting.functions.written_values import tuple_text, type_text

_OWN = frozenset({"weights", "dtype"})
"""Names that a helper function may have for a parameter, although other functions have them for something else."""


def helper_text(helper: Helper, names_reserved: Sequence[str]) -> str:
    """The lines of a helper function."""
    names = dict[str, str]()
    for parameter in helper.parameters:
        wanted_name = parameter.variable.wanted
        is_own = wanted_name in _OWN and wanted_name not in names.values()
        name = wanted_name if is_own else free_name(wanted_name, names.values(), names_reserved)
        names[parameter.variable.token] = name
    results = helper.code.results
    result = results[0] if len(results) == 1 else tuple_text(list(results))
    # Scopes of weights keep their names: another value under the name of one is read as that.
    own = [one.variable.token for one in helper.parameters if one.kind == TENSOR]
    lines = [*_docstring(helper, names), *render(helper.code.statements, result, names, names_reserved, own)]
    takes = ", ".join(f"{names[one.variable.token]}: {one.annotation}" for one in helper.parameters)
    is_array = len(helper.gives) == 1 and helper.gives[0] is not None
    head = f"def {helper.name}({takes}) -> {'jax.Array' if is_array else 'Any'}:"
    return "\n".join([head, textwrap.indent("\n".join(lines), "    "), "\n"])


def _docstring(helper: Helper, names: Mapping[str, str]) -> list[str]:
    """The types of its arrays; nothing where one of them is not known."""
    tokens = [one.variable.token for one in helper.parameters if one.kind == TENSOR]
    gives = [type_text(result) for result in helper.gives if result is not None]
    if len(gives) < len(helper.gives) or not {*tokens} <= {*helper.takes}:
        return []
    takes = ", ".join(f"{names[token]} {type_text(helper.takes[token])}" for token in tokens)
    return [f'"""{takes} -> {", ".join(gives)}."""']
