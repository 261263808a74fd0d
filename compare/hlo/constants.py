"""Float constants of a StableHLO program as NumPy arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from compare.hlo import bindings
from compare.hlo.bindings import ir


def float_values(attribute: ir.Attribute, type_: ir.Type) -> np.ndarray:
    """The elements of a dense float constant as float64, exactly; of a splat the one scalar, without dimensions."""
    # bfloat16 has no buffer view: the reference interpreter converts it.
    dense = ir.DenseElementsAttr(attribute)
    shaped = ir.RankedTensorType(type_)
    if dense.is_splat:
        return np.array(ir.FloatAttr(dense.get_splat_value()).value)
    if not isinstance(shaped.element_type, ir.BF16Type):
        return np.array(dense).astype(np.float64)
    with attribute.context, ir.Location.unknown():
        wide = ir.RankedTensorType.get(shaped.shape, ir.F64Type.get())
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = bindings.func("FuncOp")("main", ([], [wide]))
        with ir.InsertionPoint(function.add_entry_block()):
            value = bindings.stablehlo("convert")(wide, bindings.stablehlo("constant")(attribute))
            bindings.func("ReturnOp")([value])
        return np.array(bindings.stablehlo("eval_module")(module, [])[0])


def dense(values: np.ndarray, type_: ir.Type) -> ir.Attribute:
    """A dense float64 constant of a ranked tensor type; one scalar fills it as a splat."""
    if values.ndim == 0:
        return ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(ir.F64Type.get(), float(values)))
    create: Any = ir.DenseElementsAttr.get  # its stub knows the list overload only
    return create(np.ascontiguousarray(values), type=type_)
