"""Counts, hashes and prints the program that a frontend passes to XLA."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass

from compare.hlo import bindings
from compare.hlo.bindings import ir

SCAFFOLDING = frozenset({"builtin.module", "func.func", "func.return", "stablehlo.return"})
"""Operations that hold a program together and compute nothing."""

_TEXT_CONSTANT_LIMIT = 64


@dataclass(frozen=True)
class ProgramSummary:
    """A StableHLO program as written by its frontend, dead and private functions included.

    `opcodes` counts operations by name without the dialect; `instructions` is their sum. Regions
    (loop bodies, reducers) count, functions and returns do not. `text` is for people: no locations,
    and constants of more than 64 elements left out. `sha256` covers every constant and no location,
    and numbers the functions, since TensorFlow names them after how often it has traced before.
    """

    instructions: int
    opcodes: dict[str, int]
    sha256: str
    text: str


def describe(artifact: bytes) -> ProgramSummary:
    """Summarise a StableHLO program.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = bindings.parse(artifact)
    names = [operation.name for operation in bindings.operations(module)]
    opcodes = Counter(name.partition(".")[2] for name in names if name not in SCAFFOLDING)
    text = _text(module, large_elements_limit=_TEXT_CONSTANT_LIMIT)
    _number_functions(module)
    return ProgramSummary(
        instructions=opcodes.total(),
        opcodes=dict(sorted(opcodes.items())),
        sha256=hashlib.sha256(_text(module).encode()).hexdigest(),
        text=text,
    )


def roundings(artifact: bytes) -> float:
    """How many roundings in a row a program makes at most: one an operation on floats, more where many terms add up.

    The errors of a sum of n terms grow like the square root of n: Higham and Mary, SIAM Journal on Scientific
    Computing 41 (5), 2019. Of n the largest operand of the program is taken.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = bindings.parse(artifact)
    operations = bindings.operations(module)
    floats = sum(any(_holds_floats(result.type) for result in operation.results) for operation in operations)
    sizes = (
        math.prod(operand.type.shape)
        for operation in operations
        for operand in operation.operands
        if isinstance(operand.type, ir.RankedTensorType) and operand.type.has_static_shape
    )
    return floats + math.sqrt(max(sizes, default=1))


def _holds_floats(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType) and isinstance(type_.element_type, ir.FloatType)


def _text(module: ir.Module, large_elements_limit: int | None = None) -> str:
    return str(module.operation.get_asm(enable_debug_info=False, large_elements_limit=large_elements_limit))


def _number_functions(module: ir.Module) -> None:
    with module.context:
        module.operation.attributes["sym_name"] = ir.StringAttr.get("program")
        functions = [operation for operation in module.body.operations if operation.operation.name == "func.func"]
        for number, function in enumerate(functions):
            old = ir.StringAttr(function.operation.attributes["sym_name"]).value
            new = "main" if old == "main" else f"function_{number}"
            ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
            ir.SymbolTable.set_symbol_name(function, new)
