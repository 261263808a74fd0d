"""A float64 program with a disturbance of one rounding in every value: what rounding does to its formula."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compare.hlo import bindings
from compare.hlo.bindings import ir
from compare.hlo.portable import make_portable

_REDUCERS = ("reduce", "reduce_window", "scatter", "sort", "select_and_scatter", "all_reduce", "reduce_scatter", "map")
"""Their regions say how two elements become one: not every compiler takes more there."""
_HANDS_ON = (
    *("constant", "broadcast_in_dim", "reshape", "transpose", "slice", "concatenate", "select", "negate", "maximum"),
    *("minimum", "abs", "iota", "reverse", "pad", "gather", "dynamic_slice", "dynamic_update_slice", "while", "if"),
    *("clamp", "floor", "ceil", "round_nearest_afz", "round_nearest_even", "sign", "real", "imag", "sort"),
    *("case", "optimization_barrier", "tuple", "get_tuple_element", "reduce_precision", "call"),
)
"""Operations that round nothing."""


def disturb(artifact: bytes, unit: float, seed: int = 0, spared_bits: int = 0) -> bytes:
    """Multiply the result of every operation on float64 by something within 1 - unit and 1 + unit, by its own bits.

    That is what rounding does, and to values too that happen to be exact. Neither overflow nor underflow
    is imitated. Monte Carlo arithmetic: Parker, Pierce and Eggert, Computing in Science & Engineering 2 (4), 2000.

    Args:
      unit: the unit roundoff to imitate.
      spared_bits: a number of so many bits stays as it is: what is computed of round numbers is not rounded.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = bindings.parse(artifact)
    make_portable(module)
    with module.context, ir.Location.unknown():
        for operation in list(_outside_reducers(module.operation)):
            if _rounds(operation):
                for result in operation.results:
                    if _is_double(result.type):
                        _disturb(operation, result, unit, _ODD * (2 * seed + 1), spared_bits)
    return bindings.serialize(module)


def disturb_array(array: np.ndarray, unit: float, generator: np.random.Generator) -> np.ndarray:
    """Multiply each number of an array by something within 1 - unit and 1 + unit, as `disturb` does in a program.

    Args:
      array: x[...], floats; the result is of the type that NumPy multiplies it by float64 in.
      unit: the relative size of the disturbance.
    """
    return array * (1 + unit * generator.uniform(-1, 1, array.shape))


def _rounds(operation: ir.Operation) -> bool:
    """Whether its results in float64 are rounded: the largest of several values is one of them."""
    name = _short(operation)
    if name in _HANDS_ON or not any(_is_double(result.type) for result in operation.results):
        return False
    inner = (view.operation for region in operation.regions for block in region.blocks for view in block.operations)
    return name not in _REDUCERS or any(map(_rounds, inner))


def _is_double(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType) and isinstance(type_.element_type, ir.F64Type)


def _outside_reducers(whole: ir.Operation) -> Iterator[ir.Operation]:
    """Every operation inside, but for those that say how two elements become one."""
    for region in whole.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                if _short(inner.operation) not in _REDUCERS:
                    yield from _outside_reducers(inner.operation)


def _short(operation: ir.Operation) -> str:
    return operation.name.rpartition(".")[2]


def _disturb(operation: ir.Operation, value: ir.Value, unit: float, odd: int, spared_bits: int) -> None:
    """Multiply by 1 - unit plus up to 2 * unit, as a product says whose top bits depend on all bits of the value."""
    bits = ir.RankedTensorType.get(value.type.shape, ir.IntegerType.get_signless(64))
    operations: list[ir.Operation] = []

    def create(name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
        operations.append(ir.Operation.create(f"stablehlo.{name}", [type_], operands, attributes))
        return operations[-1].result

    def constant(number: float, type_: ir.RankedTensorType) -> ir.Value:
        of = ir.FloatAttr if _is_double(type_) else ir.IntegerAttr
        value = ir.DenseElementsAttr.get_splat(type_, of.get(type_.element_type, number))
        return create("constant", type_, value=value)

    with ir.InsertionPoint.after(operation):
        hash_bits = create("multiply", bits, create("bitcast_convert", bits, value), constant(_to_signed(odd), bits))
        top = create("convert", value.type, create("shift_right_logical", bits, hash_bits, constant(_SPARED, bits)))
        offset = create("multiply", value.type, top, constant(2 * unit / 2 ** (64 - _SPARED), value.type))
        factor = create("add", value.type, offset, constant(1 - unit, value.type))
        product = create("multiply", value.type, value, factor)
        if spared_bits:
            widths = {"exponent_bits": _whole(11), "mantissa_bits": _whole(spared_bits)}
            few = create("reduce_precision", value.type, value, **widths)
            same = ir.RankedTensorType.get(value.type.shape, ir.IntegerType.get_signless(1))
            direction = ir.Attribute.parse("#stablehlo<comparison_direction EQ>")
            is_round = create("compare", same, few, value, comparison_direction=direction)
            create("select", value.type, is_round, value, product)
    value.replace_all_uses_except(operations[-1].result, operations)


def _whole(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), number)


def _to_signed(number: int) -> int:
    """The signed number with the same 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


_ODD = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: Knuth, The Art of Computer Programming 3, section 6.4."""
_SPARED = 11
"""Low bits of the product, which depend on few of the value; as many as float64 has no room for."""
