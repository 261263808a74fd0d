"""Float and complex constants of a StableHLO program as NumPy arrays, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compare.hlo import bindings
from compare.hlo.bindings import ir


def float_values(attribute: ir.Attribute, type_: ir.Type) -> np.ndarray:
    """The elements of a dense float constant as float64, exactly; of a splat the one scalar, without dimensions."""
    # bfloat16 has no buffer view: the reference interpreter converts it.
    dense = ir.DenseElementsAttr(attribute)
    tensor_type = ir.RankedTensorType(type_)
    if dense.is_splat:
        return np.array(ir.FloatAttr(dense.get_splat_value()).value)
    if not isinstance(tensor_type.element_type, ir.BF16Type):
        return np.array(dense).astype(np.float64)
    with attribute.context, ir.Location.unknown():
        return _interpret(tensor_type.shape, lambda wide: _convert(bindings.stablehlo("constant")(attribute), wide))


def values_of(operation: ir.Operation) -> np.ndarray:
    """The elements of a `stablehlo.constant` of floats, as `float_values` has them."""
    return float_values(operation.attributes["value"], operation.results[0].type)


def is_double(type_: ir.Type) -> bool:
    """Whether a type is one of arrays of float64."""
    return isinstance(type_, ir.ShapedType) and isinstance(type_.element_type, ir.F64Type)


def split_complex(operation: ir.Operation) -> None:
    """Replace a constant of complex numbers by what two constants of float64 make one of.

    Args:
      operation: a `stablehlo.constant` of complex elements.
    """
    shape = ir.RankedTensorType(operation.results[0].type).shape
    with operation.context, ir.Location.unknown():
        # The bindings have no view of a complex attribute: the operation itself is what is read.
        parts = [
            _interpret(shape, lambda wide, part=part: _convert(bindings.stablehlo(part)(operation.clone()), wide))
            for part in ("real", "imag")
        ]
        with ir.InsertionPoint(operation):
            wide = _doubles(shape)
            constants = [bindings.stablehlo("constant")(dense(_as_splat(part), wide)) for part in parts]
            whole = bindings.stablehlo("complex")(*constants)
    operation.results[0].replace_all_uses_with(whole)
    operation.erase()


def _as_splat(values: np.ndarray) -> np.ndarray:
    # By bits: 0 and -0 are on either side of the cut that a complex root or logarithm has.
    bits = values.view(np.int64)
    return values.flat[0].reshape(()) if values.size and (bits == bits.flat[0]).all() else values


def _doubles(shape: Sequence[int]) -> ir.Type:
    return ir.RankedTensorType.get(shape, ir.F64Type.get())


def _convert(value: ir.Value, wide: ir.Type) -> ir.Value:
    return bindings.stablehlo("convert")(wide, value)


def _interpret(shape: Sequence[int], value: Callable[[ir.Type], ir.Value]) -> np.ndarray:
    """Float64 [*shape], as the reference interpreter computes it."""
    wide = _doubles(shape)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = bindings.func("FuncOp")("main", ([], [wide]))
    with ir.InsertionPoint(function.add_entry_block()):
        bindings.func("ReturnOp")([value(wide)])
    return np.array(bindings.stablehlo("eval_module")(module, [])[0])


def dense(values: np.ndarray, type_: ir.Type) -> ir.Attribute:
    """A dense float64 constant of a ranked tensor type; one scalar fills it as a splat."""
    if values.ndim == 0:
        return ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(ir.F64Type.get(), float(values)))
    create: Any = ir.DenseElementsAttr.get  # its stub knows the list overload only
    return create(np.ascontiguousarray(values), type=type_)
