"""A program without what only the framework that wrote it understands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compare.hlo import bindings
from compare.hlo.bindings import ir

CALLED = frozenset({"mhlo.erf", "mhlo.topk"})
"""Instructions of HLO that StableHLO lacks. Every XLA takes a custom call of that name for the instruction."""

_COMPOSITES = {"chlo.erf": "mhlo.erf", "chlo.top_k": "mhlo.topk"}


def make_portable(module: ir.Module) -> bool:
    """Rewrite, in place, what one of the two frameworks cannot read; whether there was anything.

    TensorFlow writes `mhlo.copy` where a variable is updated, and `mhlo.erf`: no portable artifact can hold
    them. JAX exports erf, top_k and the hyperbolic functions as `stablehlo.composite`, which TensorFlow 2.21
    does not read.
    """
    operations = bindings.operations(module)
    spelled_out = {
        _decomposition(operation) for operation in operations if _name_of_composite(operation) in _COMPOSITES
    }
    rewritten = [_rewrite(operation) for operation in operations]
    _drop(module, spelled_out)
    return any(rewritten)


def portable(artifact: bytes) -> bytes:
    """The program in a form that every XLA reads; a program that has it already comes back unchanged.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = bindings.parse(artifact)
    return bindings.serialize(module) if make_portable(module) else artifact


def _rewrite(operation: ir.Operation) -> bool:
    match operation.name:
        case "mhlo.copy":
            # Its value is its operand, and neither XLA's MLIR passes nor TensorFlow itself accept it.
            _replace(operation, list(operation.operands))
        case name if name in CALLED:
            _replace(operation, _custom_call(operation, name, dict(operation.attributes.items())))
        case "stablehlo.composite":
            name = _name_of_composite(operation)
            if name in _COMPOSITES:
                _replace(operation, _custom_call(operation, _COMPOSITES[name], _attributes_of_composite(operation)))
            else:
                _replace(operation, _create(operation, "func.call", {"callee": operation.attributes["decomposition"]}))
        case _:
            return False
    return True


def _replace(operation: ir.Operation, values: Sequence[Any]) -> None:
    for result, value in zip(operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()


def _attributes_of_composite(composite: ir.Operation) -> dict[str, Any]:
    composite_attributes = composite.attributes.get("composite_attributes", None)
    attributes = (
        {}
        if composite_attributes is None
        else {attribute.name: attribute.attr for attribute in ir.DictAttr(composite_attributes)}
    )
    if "k" in attributes:
        with composite.context:
            attributes["largest"] = ir.BoolAttr.get(True)
    return attributes


def _custom_call(operation: ir.Operation, target: str, attributes: dict[str, Any]) -> Sequence[Any]:
    with operation.context, operation.location:
        fields = {
            "call_target_name": ir.StringAttr.get(target),
            "mhlo.attributes": ir.DictAttr.get(attributes),
            "mhlo.version": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1),
        }
    return _create(operation, "stablehlo.custom_call", fields)


def _create(operation: ir.Operation, name: str, attributes: dict[str, Any]) -> Sequence[Any]:
    types = [result.type for result in operation.results]
    with operation.context, operation.location, ir.InsertionPoint(operation):
        return ir.Operation.create(name, types, list(operation.operands), attributes).results


def _name_of_composite(operation: ir.Operation) -> str:
    """Empty where it is none."""
    return ir.StringAttr(operation.attributes["name"]).value if operation.name == "stablehlo.composite" else ""


def _decomposition(composite: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(composite.attributes["decomposition"]).value


def _drop(module: ir.Module, functions: set[str]) -> None:
    """The spelled-out forms of what is now called by name: their constants are none of the program's."""
    forms = [
        operation
        for operation in (bindings.operations(module) if functions else ())
        if operation.name == "func.func" and ir.StringAttr(operation.attributes["sym_name"]).value in functions
    ]
    for function in forms:
        function.erase()
