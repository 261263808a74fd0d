"""How large whole numbers get that a training step or a schedule computes of the number of steps.

TensorFlow counts in int64, and JAX without x64 in 32 bits: there a square wraps from step 46,341 on, and no gate trains
for so long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.porting.safe_expressions import UnwritableError
from workloads.protocol.function_graph import Body, FunctionGraph, Node

STEPS = 1_000_000
"""A training step has to be right up to so many updates."""
MOST = 2**31 - 1
"""The largest number that JAX has without x64."""

Bounds = Mapping[int, float]
"""By number of a node, the largest magnitude of its whole numbers."""

_RULES: Mapping[str, Callable[[Sequence[float]], float]] = {
    **dict.fromkeys(("Add", "AddV2", "AddN", "Sub"), sum),
    "Mul": math.prod,
    "SquaredDifference": lambda operands: sum(operands) ** 2,
    "Square": lambda operands: operands[0] ** 2,
    "Pow": lambda operands: math.inf if operands[1] > 64 else max(operands[0], 1.0) ** operands[1],
    "LeftShift": lambda operands: math.inf if operands[1] > 64 else operands[0] * 2.0 ** operands[1],
    **dict.fromkeys(("Sum", "Prod", "Cumsum", "Cumprod", "MatMul", "BatchMatMulV2", "Einsum"), lambda _: math.inf),
}
"""By type of operation, how large its result gets; of others it is as large as what it is computed of."""

_CALLS = {"If": 1, "StatelessIf": 1, "Case": 1, "StatelessCase": 1, "PartitionedCall": 0, "StatefulPartitionedCall": 0}
"""By type of operation that calls bodies, how many of its inputs they do not take."""


def require_range(function: FunctionGraph, counters: Sequence[int], arrays: Mapping[str, np.ndarray]) -> None:
    """Check that JAX has each whole number that a function computes of a counter; bodies of loops are not looked into.

    Args:
      counters: numbers of the nodes that stand for counters.
      arrays: constants by their keys, and captured tensors by their names.

    Raises:
      UnwritableError: one is too large for 32 bits.
    """
    body = function.bodies[0]
    numbers = body.inputs[len(body.inputs) - len(function.captured) :]
    sizes = {
        number: _magnitude(arrays.get(capture.name)) for number, capture in zip(numbers, function.captured, strict=True)
    }
    _Range(function.bodies, arrays).require(body, dict.fromkeys(counters, float(STEPS)), sizes)


@dataclass(frozen=True)
class _Range:
    """The bodies of a function, and its constants by their keys."""

    bodies: Sequence[Body]
    arrays: Mapping[str, np.ndarray]

    def require(self, body: Body, bounds: Bounds, sizes: Bounds) -> None:
        """Check a body.

        Args:
          bounds: of the nodes that depend on a counter.
          sizes: of the inputs that are the same in each step.
        """
        bounds = dict(bounds)
        for number, node in enumerate(body.nodes):
            if number in bounds or not any(place in bounds for place, _ in node.inputs):
                continue
            operands = [
                bounds.get(place) or sizes.get(place) or self._largest(body.nodes[place], output)
                for place, output in node.inputs
            ]
            is_whole = bool(node.results) and node.results[0].dtype in ("int32", "int64")
            bound = _RULES.get(node.type, max)(operands) if is_whole else max(operands)
            if bound > MOST:
                raise UnwritableError(
                    f"{node.type} makes a whole number of the number of steps that JAX does not have in 32 bits after "
                    f"{STEPS:,} steps: cast the number of steps to a float first"
                )
            if is_whole:
                bounds[number] = bound
            self._require_in_bodies(node, bounds, operands)

    def _require_in_bodies(self, node: Node, bounds: Bounds, operands: Sequence[float]) -> None:
        if node.type not in _CALLS:
            return
        places = [place for place, _ in node.inputs]
        passed_on = slice(_CALLS[node.type], None)
        for body in (self.bodies[number] for numbers in node.bodies.values() for number in numbers):
            inner = list(zip(body.inputs, places[passed_on], operands[passed_on], strict=False))
            inner_bounds = {number: bounds[place] for number, place, _ in inner if place in bounds}
            self.require(body, inner_bounds, {number: operand for number, _, operand in inner})

    def _largest(self, node: Node, output: int) -> float:
        """The largest magnitude of a result that is the same in each step; 1 of what is not, such as a batch."""
        return _magnitude(self.arrays.get(node.constant or (node.known[output] if node.known else "")))


def _magnitude(array: np.ndarray | None) -> float:
    """The largest magnitude of whole numbers; 1 of anything else."""
    if array is None or array.dtype.kind not in "iu" or not array.size:
        return 1.0
    return float(np.abs(array.astype(float)).max())
