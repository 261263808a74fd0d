"""Helpers of rules: recognize and write forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from compare.hlo.graph import Node, Shape
from compare.hlo.numbering import COMMUTATIVE
from compare.hlo.rewriting import Writer

ELEMENTWISE = frozenset({
    "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "convert", "cosine", "divide", "erf",
    "exponential", "exponential-minus-one", "floor", "is-finite", "log", "log-plus-one", "logistic", "maximum",
    "minimum", "multiply", "negate", "not", "or", "power", "reduce-precision", "remainder", "round-nearest-afz",
    "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic", "shift-right-logical", "sign",
    "sine", "sqrt", "subtract", "tan", "tanh", "xor",
})  # fmt: skip
"""Operations that compute each element from the elements in the same place."""

FLOATS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
"""Bits of the fraction of the float types that rules know."""
INTEGERS = {"s8": 8, "s16": 16, "s32": 32, "s64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
"""Bits of the integer types."""


def is_float(shape: Shape) -> bool:
    """Whether it has floats of a type that rules know."""
    return shape.dtype in FLOATS


def is_integer(shape: Shape) -> bool:
    """Whether it has integers, booleans not among them."""
    return shape.dtype in INTEGERS


def splat(key: int, graph: Writer) -> Any:
    """The one number that all elements are, if a constant says so, as a NumPy scalar of its type; else None."""
    node = graph[key]
    if node.opcode == "broadcast":
        node = graph[node.operands[0]]
    if node.opcode != "constant" or node.literal is None or node.shape.elements != 1:
        return None
    return node.literal.reshape(())[()]


def is_splat(key: int, graph: Writer, value: float) -> bool:
    """Whether all elements are this number; -0.0 is not 0.0."""
    number = splat(key, graph)
    if number is None or np.iscomplexobj(number):
        # Either part of a complex zero has a sign of its own.
        return number is not None and number.tobytes() == type(number)(value).tobytes()
    return bool(number == value) and (value != 0 or np.signbit(number) == np.signbit(value))


def fill(value: np.generic | float, shape: Shape, graph: Writer) -> int:
    """An array of one number, in the form that all of them have: a scalar constant, broadcast."""
    dtype = np.asarray(value).dtype if isinstance(value, np.generic) else numpy_type(shape.dtype)
    return spread(graph.constant(np.asarray(value, dtype), shape.dtype), shape.dimensions, graph)


def numpy_type(dtype: str) -> np.dtype:
    """NumPy's type of an HLO dtype that rules compute with."""
    if dtype == "pred":
        return np.dtype(bool)
    if dtype == "bf16":
        return np.dtype(ml_dtypes.bfloat16)
    kind = {"f": "float", "s": "int", "u": "uint"}[dtype[0]]
    return np.dtype(f"{kind}{dtype[1:]}")


def is_normal(value: Any) -> bool:
    """Whether a float is finite, not 0 and no subnormal, which some processors make 0."""
    size = abs(float(value))
    return bool(np.isfinite(size)) and size >= float(ml_dtypes.finfo(value.dtype).smallest_normal)


def reshape(key: int, dimensions: Sequence[int], graph: Writer) -> int:
    """Write a reshape: the same elements in the same order."""
    return graph.add("reshape", Shape(graph[key].shape.dtype, tuple(dimensions)), (key,))


def transpose(key: int, order: Sequence[int], graph: Writer) -> int:
    """Dimension i of the result is dimension order[i] of the value.

    Args:
      order: a permutation of its dimensions.
    """
    shape = graph[key].shape
    new_shape = Shape(shape.dtype, tuple(shape.dimensions[axis] for axis in order))
    return graph.add("transpose", new_shape, (key,), (("dimensions", tuple(order)),))


def broadcast(key: int, onto: Sequence[int], dimensions: Sequence[int], graph: Writer) -> int:
    """Dimension i of the value becomes dimension onto[i] of the result; the others repeat it."""
    attributes = (("dimensions", tuple(onto)),) if onto else ()
    return graph.add("broadcast", Shape(graph[key].shape.dtype, tuple(dimensions)), (key,), attributes)


def spread(key: int, dimensions: Sequence[int], graph: Writer) -> int:
    """A scalar in every place."""
    return key if not dimensions else broadcast(key, (), dimensions, graph)


def again(node: Node, operands: Sequence[int], shape: Shape, graph: Writer) -> int:
    """Write the operation with other operands.

    Args:
      operands: ids of values in the graph.
    """
    return graph.add(node.opcode, shape, operands, node.attributes, regions=node.regions)


def squeeze(dimensions: Sequence[int]) -> tuple[int, ...]:
    """Without dimensions of size 1."""
    return tuple(size for size in dimensions if size != 1)


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes this one."""
    return tuple(order.index(axis) for axis in range(len(order)))


def groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The dimensions that a reshape groups: the smallest runs on both sides with equally many elements.

    Of shapes with equally many elements and no dimension of size 0 or 1.
    """
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    left = right = 0
    while left < len(before):
        starts, before_size, after_size = (left, right), before[left], after[right]
        while before_size != after_size:
            if before_size < after_size:
                left += 1
                before_size *= before[left]
            else:
                right += 1
                after_size *= after[right]
        left, right = left + 1, right + 1
        pairs.append((tuple(range(starts[0], left)), tuple(range(starts[1], right))))
    return pairs


def only(node: Node) -> str | None:
    """The one commutative operation of its two parameters that the region of a reduction is; None of any other."""
    region = node.regions[0] if len(node.regions) == 1 else None
    if region is None or len(region.parameters) != 2 or len(region.results) != 1:
        return None
    root = region.nodes[region.results[0]]
    return root.opcode if root.opcode in COMMUTATIVE and sorted(root.operands) == sorted(region.parameters) else None
