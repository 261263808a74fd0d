"""Operations that few readers of StableHLO know, replaced by those that all of them know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compare.hlo import batch_norm, bindings
from compare.hlo.bindings import UnreadableProgram, ir

_reshape, _transpose = bindings.stablehlo("reshape"), bindings.stablehlo("transpose")
_dot_general, _DotDimensionNumbers = bindings.stablehlo("dot_general"), bindings.stablehlo("DotDimensionNumbers")


def without_bitcasts(module: ir.Module) -> None:
    """Replace `mhlo.bitcast`, in place: the same bytes in another layout are a transpose, a reshape, a transpose.

    Optimized modules have them, and no portable artifact can hold them.

    Raises:
      UnreadableProgram: one reads elements as another dtype.
    """
    for operation in bindings.operations(module):
        if operation.name == "mhlo.bitcast":
            _replace(operation, _relaid(operation))


def without_shorthands(module: ir.Module) -> None:
    """Replace `stablehlo.dot` and batch normalisation, in place: the reference interpreter has neither."""
    for operation in bindings.operations(module):
        if operation.name == "stablehlo.dot":
            _replace(operation, _general(operation))
        elif batch_norm.is_batch_norm(operation):
            batch_norm.expand(operation)


def _replace(operation: ir.Operation, value: Any) -> None:
    operation.results[0].replace_all_uses_with(value)
    operation.erase()


def _general(dot: ir.Operation) -> Any:
    lhs, rhs = dot.operands
    precision = dot.attributes.get("precision_config", None)
    with ir.InsertionPoint(dot), dot.location:
        numbers = _DotDimensionNumbers.get([], [], [ir.RankedTensorType(lhs.type).rank - 1], [0])
        return _dot_general(dot.results[0].type, lhs, rhs, numbers, precision_config=precision)


def _relaid(bitcast: ir.Operation) -> Any:
    operand, result = bitcast.operands[0], ir.RankedTensorType(bitcast.results[0].type)
    source = ir.RankedTensorType(operand.type)
    if source.element_type != result.element_type:
        raise UnreadableProgram(f"expected a bitcast that keeps its dtype, found {source} read as {result}")
    before, after = (_major_to_minor(bitcast, f"{side}_layout") for side in ("source", "result"))
    with ir.InsertionPoint(bitcast), bitcast.location:
        physical = ir.RankedTensorType.get([result.shape[axis] for axis in after], result.element_type)
        return _permute(_reshape(physical, _permute(operand, before)), [int(axis) for axis in np.argsort(after)])


def _permute(value: Any, axes: Sequence[int]) -> Any:
    return value if list(axes) == sorted(axes) else _transpose(value, ir.DenseI64ArrayAttr.get(list(axes)))


def _major_to_minor(bitcast: ir.Operation, name: str) -> list[int]:
    return [int(axis) for axis in np.array(bitcast.attributes[name])][::-1]
