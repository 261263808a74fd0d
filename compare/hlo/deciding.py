"""Choices of a program that rounding can turn: watched in float32, and made likewise in float64 where that is why.

A comparison, the window of a pool that a gradient goes to, a rounding to an integer: beside an edge, one rounding of
what is decided by takes the other branch, and what follows is another value, not a rounded one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compare.hlo import bindings
from compare.hlo.bindings import ir
from compare.hlo.inlined_calls import inline_calls, main_of
from compare.hlo.portable import make_portable

_FIRST_DECIDES = frozenset(
    f"stablehlo.{name}"
    for name in ("select_and_scatter", "floor", "ceil", "sign", "round_nearest_afz", "round_nearest_even")
)
_HANDS_ON = frozenset(f"stablehlo.{name}" for name in ("broadcast_in_dim", "reshape"))


def watched(artifact: bytes) -> tuple[bytes, Sequence[tuple[int, ...]]]:
    """The program that returns, behind its results, every value that it decides by; and the shapes of these.

    Choices in the body of a loop or a branch are not among them.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = _inlined(artifact)
    values = [choice.value for choice in _choices(module)]
    shapes = [tuple(ir.RankedTensorType(value.type).shape) for value in values]
    _returning(module, values)
    # What serializes a module takes its values apart.
    return bindings.serialize(module), shapes


def decided(artifact: bytes) -> bytes:
    """The program in float64 that decides by values that it is given, where these are as close as it is told.

    Parameters behind its own: for each value that it decides by, an array f64[...] of its shape and the largest
    difference f64[] up to which that stands for it. Results behind its own: these values, as it computed them; then
    for each choice i1[...], where it came out otherwise than by the program's own value.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = _inlined(artifact)
    choices = _choices(module)
    with module.context, ir.Location.unknown() as nowhere:
        (block,) = main_of(module).regions[0].blocks
        scalar = ir.RankedTensorType.get([], ir.F64Type.get())
        turned: list[ir.Value] = []
        for choice in choices:
            given, most = (block.add_argument(type_, nowhere) for type_ in (choice.value.type, scalar))
            turned += _decided_by(choice, given, most)
    _returning(module, [*(choice.value for choice in choices), *turned])
    return bindings.serialize(module)


@dataclass(frozen=True)
class _Choice:
    """A value, and the operands that are decided by it, in the order of the program."""

    value: ir.Value
    operands: list[tuple[ir.Operation, int]] = field(default_factory=list)


def _decided_by(choice: _Choice, given: ir.Value, most: ir.Value) -> list[ir.Value]:
    """Let what is given stand for a value in every choice, element by element, where it is close; where that shows."""
    type_ = choice.value.type
    with ir.InsertionPoint(choice.operands[0][0]):
        gap = _created("abs", type_, _created("subtract", type_, given, choice.value))
        nowhere = ir.DenseI64ArrayAttr.get([])
        close = _compared("LE", gap, _created("broadcast_in_dim", type_, most, broadcast_dimensions=nowhere))
        chosen = _created("select", type_, close, given, choice.value)
    return [_turned(operation, at, chosen) for operation, at in choice.operands]


def _turned(operation: ir.Operation, at: int, chosen: ir.Value) -> ir.Value:
    """Let an operation decide by another value; where it then gives another result."""
    own: Any = operation.clone(ir.InsertionPoint(operation))
    operation.operands[at] = chosen
    with ir.InsertionPoint.after(operation):
        return _compared("NE", own.operation.results[0], operation.results[0])


def _compared(direction: str, left: ir.Value, right: ir.Value) -> ir.Value:
    flags = ir.RankedTensorType.get(ir.RankedTensorType(left.type).shape, ir.IntegerType.get_signless(1))
    wanted = bindings.stablehlo("ComparisonDirectionAttr").get(direction)
    return _created("compare", flags, left, right, comparison_direction=wanted)


def _created(name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(f"stablehlo.{name}", [type_], operands, attributes).result


def _inlined(artifact: bytes) -> ir.Module:
    module = bindings.parse(artifact)
    make_portable(module)
    inline_calls(module)
    return module


def _choices(module: ir.Module) -> list[_Choice]:
    """Every value that is decided by, in the order in which it first is."""
    (block,) = main_of(module).regions[0].blocks
    choices: dict[Any, _Choice] = {}
    for view in block.operations:
        operation = view.operation
        for at in _deciding(operation):
            value = operation.operands[at]
            if not _is_fixed(value):
                choices.setdefault(value, _Choice(value)).operands.append((operation, at))
    return list(choices.values())


def _deciding(operation: ir.Operation) -> Sequence[int]:
    """Which operands an operation decides by."""
    if operation.name == "stablehlo.compare":
        return [at for at, operand in enumerate(operation.operands) if _is_float(operand.type)]
    converts = operation.name == "stablehlo.convert" and not _is_float(operation.results[0].type)
    first = operation.name in _FIRST_DECIDES or converts
    return [0] if first and _is_float(operation.operands[0].type) else []


def _is_fixed(value: ir.Value) -> bool:
    """Whether it is a constant, which nothing rounds."""
    owner: Any = value.owner
    if isinstance(owner, ir.Block):
        return False
    name = owner.name
    return name == "stablehlo.constant" or (name in _HANDS_ON and _is_fixed(owner.operands[0]))


def _is_float(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType) and isinstance(type_.element_type, ir.FloatType)


def _returning(module: ir.Module, values: Sequence[ir.Value]) -> None:
    """Return more from main, which then is signed as its block is."""
    main = main_of(module)
    (block,) = main.regions[0].blocks
    with module.context, ir.Location.unknown():
        last = list(block.operations)[-1].operation
        returned = [*last.operands, *values]
        with ir.InsertionPoint(last):
            ir.Operation.create(last.name, [], returned)
        last.erase()
        types = [argument.type for argument in block.arguments], [value.type for value in returned]
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
        # They say one thing of each parameter and result, as which buffer it may take: of none here.
        for name in ("arg_attrs", "res_attrs"):
            if name in main.attributes:
                del main.attributes[name]
