"""Finds values that a program rounds on purpose to fewer bits than float32: promotion hides them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compare.hlo import bindings
from compare.hlo.bindings import ir

_FLOAT32_BITS, _FLOAT32_MANTISSA_BITS = 32, 23


def narrowings(artifact: bytes) -> frozenset[str]:
    """By name, the types that hold several numbers, the precisions and the algorithms of products.

    Such as "bf16", "e5m10" of a reduce_precision, and the algorithm of a dot as StableHLO writes it.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = bindings.parse(artifact)  # owns the operations: they die with it
    return frozenset(name for operation in bindings.operations(module) for name in _of(operation))


def rounds_further(original: bytes, port: bytes) -> bool:
    """Whether the port rounds to a type, or by an algorithm, that the original does not.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    return bool(narrowings(port) - narrowings(original))


def _of(operation: ir.Operation) -> Iterator[str]:
    for value in (*operation.operands, *operation.results):
        type_ = value.type
        if isinstance(type_, ir.RankedTensorType) and _is_narrow(type_.element_type) and _is_several(type_):
            yield str(type_.element_type)
    attributes = operation.attributes
    if operation.name == "stablehlo.reduce_precision":
        exponent, mantissa = (ir.IntegerAttr(attributes[f"{part}_bits"]).value for part in ("exponent", "mantissa"))
        if mantissa < _FLOAT32_MANTISSA_BITS:
            yield f"e{exponent}m{mantissa}"
    if operation.name == "stablehlo.dot_general" and "algorithm" in attributes:
        yield str(attributes["algorithm"])


def _is_narrow(element: ir.Type) -> bool:
    return isinstance(element, ir.FloatType) and element.width < _FLOAT32_BITS


def _is_several(type_: ir.RankedTensorType) -> bool:
    return not type_.has_static_shape or int(np.prod(type_.shape)) > 1
