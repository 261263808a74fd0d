"""The float64 self of any program: every float type widened, no cooperation of its author needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from compare.hlo import batch_norm, bindings, constants
from compare.hlo.bindings import ir
from compare.hlo.overwriting import main_function
from compare.hlo.portable import CALLED, make_portable

_FLOAT8 = (ir.Float8E4M3FNType, ir.Float8E5M2Type)
_NARROW = (ir.F32Type, ir.F16Type, ir.BF16Type, *_FLOAT8)
_TYPELESS = ("!stablehlo.token",)
# Calls that hand their operands on, whatever the element type.
_NEUTRAL_CALLS = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint"})
# What stands between a scalar, as the rate that an optimizer keeps in float32, and the array that it is for.
_SPREADING = frozenset({"stablehlo.constant", "stablehlo.broadcast_in_dim", "stablehlo.reshape"})
_DOUBLE_EXPONENT_BITS, _DOUBLE_MANTISSA_BITS = 11, 52


class PromotionError(Exception):
    """The program has no float64 self that means the same; the message names the operation."""


def promote(artifact: bytes, takes_narrow: bool = False) -> bytes:
    """Rewrite f32, f16, bf16 and f8 to f64 everywhere; integers stay. Constants keep their rounded values.

    Deliberate rounding inside the program (convert to bf16 and back, reduce_precision) goes with the types, but for
    that to f8, which leaves two or three bits: it is what such a program is about. Batch normalisation is spelled
    out, its epsilon becoming a constant. Bits that become a float, as a random draw makes them, are read as the float
    that they were meant for, which is then widened: the same number.

    Args:
      takes_narrow: whether the program takes its arguments in their own types, and widens them itself.

    Raises:
      PromotionError: an operation depends on the width of its floats (the bits of a float, a random draw, a
        custom call that is not known), has a type that cannot be widened, or rounds to f8 what is computed with,
        and takes no f8.
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = bindings.parse(artifact)
    make_portable(module)
    with module.context, ir.Location.unknown():
        for operation in bindings.operations(module):
            if operation.name == "stablehlo.constant" and _is_complex(operation.results[0].type):
                constants.split_complex(operation)
        operations = bindings.operations(module)
        for operation in operations:
            _refuse_unsafe(operation)
        main = main_function(module)
        types = [argument.type for argument in main.regions[0].blocks[0].arguments]
        _refuse_quantization(operations, types)
        for operation in operations:
            _widen_operation(operation)
        batch_norm.expand_doubles(module)
        if takes_narrow:
            _take(main, types)
        _verify(module)
    return bindings.serialize(module)


def _take(main: ir.Operation, types: Sequence[ir.Type]) -> None:
    """Have the main function take arguments of these types, and widen them at its start."""
    entry = main.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(entry):
        for argument, narrow in zip(entry.arguments, types, strict=True):
            wide = argument.type
            if wide == narrow:
                continue
            argument.set_type(narrow)
            widening = ir.Operation.create("stablehlo.convert", [wide], [argument])
            argument.replace_all_uses_except(widening.results[0], widening)
    results = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, results))


def _verify(module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        message = "; ".join(str(error).splitlines())
        raise PromotionError(f"expected operations that can be promoted to float64, found {message}") from error


def is_double(artifact: bytes) -> bool:
    """Whether no value anywhere in the program, dead code included, has a float type narrower than f64."""
    module = bindings.parse(artifact)
    return not any(
        _is_narrow(leaf)
        for operation in bindings.operations(module)
        for type_ in _types(operation)
        for leaf in _leaves(type_)
    )


def narrow_computation(artifact: bytes) -> str:
    """The first operation that computes more than one number in a float type narrower than f64; empty where none does.

    Scalars are passed over, and so are constants: an optimizer may keep its rate in float32 in any model.
    """
    module = bindings.parse(artifact)  # held: its operations end with it
    for operation in bindings.operations(module):
        name = operation.name
        if name not in _SPREADING and any(_holds_narrow(result.type) for result in operation.results):
            return name.removeprefix("stablehlo.")
    return ""


def _holds_narrow(type_: ir.Type) -> bool:
    """Whether values of a type are several floats narrower than f64."""
    if isinstance(type_, ir.RankedTensorType):
        return (not type_.has_static_shape or int(np.prod(type_.shape)) > 1) and any(
            _is_narrow(leaf) for leaf in _leaves(type_)
        )
    return False


def _is_narrow(leaf: ir.Type) -> bool:
    return isinstance(leaf, ir.FloatType) and leaf.width < 64


def _types(operation: ir.Operation) -> Iterator[ir.Type]:
    yield from (result.type for result in operation.results)
    for region in operation.regions:
        for block in region.blocks:
            yield from (argument.type for argument in block.arguments)


def _leaves(type_: ir.Type) -> Iterator[ir.Type]:
    if isinstance(type_, (ir.ShapedType, ir.ComplexType)):
        yield from _leaves(type_.element_type)
    elif isinstance(type_, ir.TupleType):
        for position in range(type_.num_types):
            yield from _leaves(type_.get_type(position))
    else:
        yield type_


def _widen(type_: ir.Type) -> ir.Type:
    if isinstance(type_, _NARROW):
        return ir.F64Type.get()
    if isinstance(type_, ir.RankedTensorType):
        return ir.RankedTensorType.get(type_.shape, _widen(type_.element_type), type_.encoding)
    if isinstance(type_, ir.ComplexType):
        return ir.ComplexType.get(_widen(type_.element_type))
    if isinstance(type_, ir.TupleType):
        return ir.TupleType.get_tuple([_widen(type_.get_type(position)) for position in range(type_.num_types)])
    if isinstance(type_, ir.FunctionType):
        return ir.FunctionType.get([_widen(one) for one in type_.inputs], [_widen(one) for one in type_.results])
    if isinstance(type_, (ir.IntegerType, ir.IndexType, ir.F64Type)) or str(type_) in _TYPELESS:
        return type_
    raise PromotionError(f"expected float, integer and token types, found {type_}: it has no float64 counterpart")


def _refuse_unsafe(operation: ir.Operation) -> None:
    floats = any(
        isinstance(leaf, ir.FloatType)
        for type_ in (*_types(operation), *(operand.type for operand in operation.operands))
        for leaf in _leaves(type_)
    )
    if not floats:
        return
    match operation.name:
        case "stablehlo.bitcast_convert" if not _makes_floats(operation):
            raise PromotionError("expected arithmetic on floats, found bitcast_convert: it reads their float32 bits")
        case "stablehlo.rng":
            raise PromotionError("expected arithmetic on floats, found rng: in float64 it draws other numbers")
        case "stablehlo.custom_call":
            target = ir.StringAttr(operation.attributes["call_target_name"]).value
            if target not in _NEUTRAL_CALLS | CALLED:
                raise PromotionError(f"expected StableHLO operations, found custom_call {target}: its types are fixed")
        case name if batch_norm.is_batch_norm(operation) and not _is_static(operation):
            raise PromotionError(f"expected static shapes, found {name} of dynamic shape: export with fixed shapes")


def _makes_floats(operation: ir.Operation) -> bool:
    """Whether a bitcast makes real numbers of integers, which are the same in the float64 self."""
    makes_float = isinstance(_element(operation.results[0].type), ir.FloatType)
    return makes_float and isinstance(_element(operation.operands[0].type), ir.IntegerType)


def _refuse_quantization(operations: Sequence[ir.Operation], types: Sequence[ir.Type]) -> None:
    """Raise where a program rounds to float8 what it computes with; one that takes float8 may."""
    if any(map(_is_float8, types)):
        return
    for operation in operations:
        for result in operation.results:
            if _is_float8(result.type) and any(use.owner.name != "func.return" for use in result.uses):
                raise PromotionError(
                    "expected float8 in parameters and results, found arithmetic in it: float64 rounds otherwise"
                )


def _is_float8(type_: ir.Type) -> bool:
    return any(isinstance(leaf, _FLOAT8) for leaf in _leaves(type_))


def _is_complex(type_: ir.Type) -> bool:
    return isinstance(_element(type_), ir.ComplexType)


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_


def _is_static(operation: ir.Operation) -> bool:
    return all(isinstance(one.type, ir.ShapedType) and one.type.has_static_shape for one in operation.operands)


def _widen_operation(operation: ir.Operation) -> None:
    attributes = operation.attributes
    match operation.name:
        case "func.func":
            attributes["function_type"] = ir.TypeAttr.get(_widen(ir.TypeAttr(attributes["function_type"]).value))
        case "stablehlo.constant" if any(isinstance(leaf, _NARROW) for leaf in _leaves(operation.results[0].type)):
            attributes["value"] = constants.dense(constants.values_of(operation), _widen(operation.results[0].type))
        case "stablehlo.reduce_precision":
            attributes["exponent_bits"] = ir.IntegerAttr.get(_i32(), _DOUBLE_EXPONENT_BITS)
            attributes["mantissa_bits"] = ir.IntegerAttr.get(_i32(), _DOUBLE_MANTISSA_BITS)
        case "stablehlo.dot_general" if "algorithm" in attributes:
            del attributes["algorithm"]
    if operation.name == "stablehlo.bitcast_convert" and _makes_floats(operation):
        _widen_after(operation)
        return
    for result in operation.results:
        result.set_type(_widen(result.type))
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.arguments:
                argument.set_type(_widen(argument.type))


def _widen_after(operation: ir.Operation) -> None:
    """Leave the result as narrow as the bits are, and widen its value for its users."""
    narrow = operation.results[0]
    wide = _widen(narrow.type)
    if wide == narrow.type:
        return
    with ir.InsertionPoint.after(operation), operation.location:
        wide_result = ir.Operation.create("stablehlo.convert", [wide], [narrow])
    narrow.replace_all_uses_except(wide_result.results[0], wide_result)


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)
