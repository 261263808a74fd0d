"""Spells out batch normalisation in primitive operations, by the formulas of the StableHLO specification.

Its epsilon is an attribute that is float32 by definition: no float64 program can hold another, and no
perturbation can reach it, until it is a constant operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from compare.hlo import bindings, constants
from compare.hlo.bindings import ir


def _builder(name: str) -> Callable[..., Any]:
    def build(*arguments: Any) -> Any:
        return bindings.stablehlo(name)(*arguments)

    return build


_add, _subtract, _multiply, _divide, _sqrt = map(_builder, ("add", "subtract", "multiply", "divide", "sqrt"))
_constant, _broadcast_in_dim, _return, _ReduceOp = map(
    _builder, ("constant", "broadcast_in_dim", "return_", "ReduceOp")
)


class _Normalization:
    """Builds at the place of one batch_norm operation; a vector has one value per feature."""

    def __init__(self, operation: ir.Operation) -> None:
        self.type = ir.RankedTensorType(operation.operands[0].type)
        self.feature = ir.IntegerAttr(operation.attributes["feature_index"]).value
        self.epsilon = ir.FloatAttr(operation.attributes["epsilon"]).value
        self.vector = ir.RankedTensorType.get([self.type.shape[self.feature]], self.type.element_type)
        self.others = [axis for axis in range(self.type.rank) if axis != self.feature]
        self.count = math.prod(self.type.shape[axis] for axis in self.others)

    def constant(self, value: float, shape: list[int]) -> Any:
        element = ir.FloatAttr.get(self.type.element_type, value)
        kind = ir.RankedTensorType.get(shape, self.type.element_type)
        return _constant(ir.DenseElementsAttr.get_splat(kind, element))

    def spread(self, vector: Any) -> Any:
        return _broadcast_in_dim(self.type, vector, ir.DenseI64ArrayAttr.get([self.feature]))

    def total(self, values: Any) -> Any:
        scalar = ir.RankedTensorType.get([], self.type.element_type)
        axes = ir.DenseI64ArrayAttr.get(self.others)
        reduce = _ReduceOp([self.vector], [values], [self.constant(0.0, [])], axes)
        block = reduce.regions[0].blocks.append(scalar, scalar)
        with ir.InsertionPoint(block):
            _return([_add(*block.arguments)])
        return reduce.results[0]

    def mean(self, values: Any) -> Any:
        return _divide(self.total(values), self.constant(self.count, self.vector.shape))

    def stabilize(self, variance: Any) -> Any:
        return _add(variance, self.constant(self.epsilon, self.vector.shape))

    def inference(self, operand: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> list[Any]:
        """The normalized operand, by a given mean and variance.

        Args:
          scale: [features].
          offset: [features].
          mean: [features].
          variance: [features].
        """
        centered_operand = _subtract(operand, self.spread(mean))
        deviation = _sqrt(self.stabilize(variance))
        normalized_operand = _divide(centered_operand, self.spread(deviation))
        return [_add(_multiply(normalized_operand, self.spread(scale)), self.spread(offset))]

    def training(self, operand: Any, scale: Any, offset: Any) -> list[Any]:
        """The normalized operand, its mean and its variance.

        Args:
          scale: [features].
          offset: [features].
        """
        mean = self.mean(operand)
        centered_operand = _subtract(operand, self.spread(mean))
        variance = self.mean(_multiply(centered_operand, centered_operand))
        return [*self.inference(operand, scale, offset, mean, variance), mean, variance]

    def grad(self, operand: Any, scale: Any, mean: Any, variance: Any, gradient: Any) -> list[Any]:
        """The gradients of operand, scale and offset.

        Args:
          scale: [features].
          mean: [features].
          variance: [features].
          gradient: of the normalized operand, in its shape.
        """
        centered_operand = _subtract(operand, self.spread(mean))
        stable_variance = self.stabilize(variance)
        deviation = _sqrt(stable_variance)
        grad_scale = self.total(_multiply(gradient, _divide(centered_operand, self.spread(deviation))))
        covariance = self.mean(_multiply(gradient, centered_operand))
        along = _multiply(centered_operand, self.spread(_divide(covariance, stable_variance)))
        across = _subtract(_subtract(gradient, self.spread(self.mean(gradient))), along)
        grad_operand = _multiply(self.spread(_divide(scale, deviation)), across)
        return [grad_operand, grad_scale, self.total(gradient)]


_FORMULAS: Mapping[str, Callable[..., list[Any]]] = {
    "stablehlo.batch_norm_inference": _Normalization.inference,
    "stablehlo.batch_norm_training": _Normalization.training,
    "stablehlo.batch_norm_grad": _Normalization.grad,
}


def expand(operation: ir.Operation) -> None:
    """Replace one batch_norm_inference, _training or _grad, of static shape, by primitives."""
    normalization = _Normalization(operation)
    with ir.InsertionPoint(operation), operation.location:
        values = _FORMULAS[operation.name](normalization, *operation.operands)
    for result, value in zip(operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()


def is_batch_norm(operation: ir.Operation) -> bool:
    """Whether `expand` applies."""
    return operation.name in _FORMULAS


def expand_doubles(module: ir.Module) -> None:
    """Spell out every batch normalization of float64, in place."""
    for operation in bindings.operations(module):
        if is_batch_norm(operation) and constants.is_double(operation.operands[0].type):
            expand(operation)
