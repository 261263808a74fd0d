"""StableHLO programs with the functions that their main function calls written out in it."""

from __future__ import annotations

from typing import Any

from compare.hlo import bindings
from compare.hlo.bindings import ir

_CALL, _FUNCTION, _MAIN = "func.call", "func.func", "main"


def main_of(module: ir.Module) -> ir.Operation:
    """The function that a program is entered by.

    Raises:
      UnreadableProgram: it has none.
    """
    for operation in module.body.operations:
        if operation.operation.name == _FUNCTION and _name(operation.operation) == _MAIN:
            return operation.operation
    raise bindings.UnreadableProgram("expected a program with a function main, found none")


def inline_calls(module: ir.Module) -> None:
    """Write out, in place, every call in a block of main, and those in what was written out."""
    functions = {
        _name(operation.operation): operation.operation
        for operation in module.body.operations
        if _is_function(operation)
    }
    with module.context, ir.Location.unknown():
        waiting = _calls(main_of(module))
        while waiting:
            call = waiting.pop()
            callee = functions[ir.FlatSymbolRefAttr(call.attributes["callee"]).value]
            waiting += _written_out(call, callee)


def _written_out(call: ir.Operation, callee: ir.Operation) -> list[ir.Operation]:
    """Put a copy of what is called in the place of a call; the calls that it holds."""
    copy: Any = callee.clone(ir.InsertionPoint(callee)).operation
    (block,) = copy.regions[0].blocks
    for argument, operand in zip(block.arguments, list(call.operands), strict=True):
        argument.replace_all_uses_with(operand)
    inner = [operation.operation for operation in block.operations]
    for operation in inner[:-1]:
        operation.move_before(call)
    for result, value in zip(call.results, list(inner[-1].operands), strict=True):
        result.replace_all_uses_with(value)
    call.erase()
    copy.erase()
    return [operation for operation in inner[:-1] if operation.name == _CALL]


def _calls(function: ir.Operation) -> list[ir.Operation]:
    (block,) = function.regions[0].blocks
    return [operation.operation for operation in block.operations if operation.operation.name == _CALL]


def _is_function(operation: Any) -> bool:
    return operation.operation.name == _FUNCTION


def _name(function: ir.Operation) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value
