"""Lists the operations of TensorFlow that a rule writes, with conditions, and the others with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any, Literal

from compare.counterparts.raw_operations import PLUMBING, RawOperation
from compare.porting.functions.rules_of_random import REASONS
from compare.porting.functions.written_module import LEFT_OUT
from compare.porting.functions.written_types import CONTROL, LISTS, OF_VARIABLES, RULES, SAME, SIZES, TEMPLATES

How = Literal["always", "constants", "conditions", "sizes", "control", "lists", "plumbing", "left out", "place"]
"""How an operation is written.

"constants": where some of its inputs are constants or sizes; "conditions": a rule that refuses some calls; "sizes":
Python's integers; "plumbing": arguments, literals and weights; "left out": what raises or prints; "place": not written.
"""
WRITTEN: tuple[How, ...] = ("always", "constants", "conditions", "sizes", "control", "lists", "plumbing")
_TYPES: tuple[tuple[How, frozenset[str]], ...] = (
    ("sizes", SIZES),
    ("control", CONTROL),
    ("lists", LISTS),
    ("plumbing", PLUMBING | SAME),
    ("left out", LEFT_OUT),
)
_REFUSES = frozenset({"UnwritableError"})
_CONSTANTS = frozenset({"host", "known", "integers", "number", "numbers"})


def how(operation: str) -> How:
    """How an operation is written."""
    operation = OF_VARIABLES.get(operation, operation)
    if operation in TEMPLATES:
        return "always"
    if operation in RULES:
        names = set(_names(RULES[operation], set()))
        return "conditions" if names & _REFUSES else "constants" if names & _CONSTANTS else "always"
    for kind, types in _TYPES:
        if operation in types:
            return kind
    return "place"


def reason(operation: str) -> str:
    """Why an operation is a place; "" where it is only that no rule writes it."""
    return REASONS.get(operation, "")


def shares(operations: Mapping[str, RawOperation]) -> Mapping[str, tuple[int, int]]:
    """How many are written, and of how many, by what they are counted among.

    Args:
      operations: of TensorFlow, by type.
    """
    among: Mapping[str, frozenset[str]] = {
        "all": frozenset(operations),
        "in tf.raw_ops": frozenset(name for name, operation in operations.items() if operation.public),
        "that XLA compiles": frozenset(name for name, operation in operations.items() if operation.xla == "compiled"),
        "that a row of the map is about": frozenset(name for name, operation in operations.items() if operation.rows),
    }
    return {kind: (sum(how(name) in WRITTEN for name in names), len(names)) for kind, names in among.items() if names}


def _names(function: Any, seen_functions: set[int]) -> Iterator[str]:
    """The names that a function of a rule reads, and those that its module's functions read that it calls."""
    if not isinstance(function, FunctionType) or id(function) in seen_functions:
        return
    seen_functions.add(id(function))
    names = set(_of_code(function.__code__))
    yield from names
    for name in names:
        yield from _names(function.__globals__.get(name), seen_functions)
    for cell in function.__closure__ or ():
        yield from _names(cell.cell_contents, seen_functions)


def _of_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
