"""Computes constants, and values that depend on shapes alone, in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compare.porting.functions.slices import indices
from compare.porting.functions.written_values import Value
from compare.porting.regular_arrays import MOST_IN_TEXT
from workloads.protocol.function_graph import Node

Host = np.ndarray[Any, Any]

_ARITHMETIC: Mapping[str, tuple[Callable[[Any, Any], Any], str]] = {
    "Add": (lambda a, b: a + b, "({} + {})"), "AddV2": (lambda a, b: a + b, "({} + {})"),
    "Sub": (lambda a, b: a - b, "({} - {})"), "Mul": (lambda a, b: a * b, "({} * {})"),
    "FloorDiv": (lambda a, b: a // b, "({} // {})"), "FloorMod": (lambda a, b: a % b, "({} % {})"),
    "Maximum": (max, "max({}, {})"), "Minimum": (min, "min({}, {})"),
    "Equal": (lambda a, b: a == b, "({} == {})"), "NotEqual": (lambda a, b: a != b, "({} != {})"),
    "Less": (lambda a, b: a < b, "({} < {})"), "Greater": (lambda a, b: a > b, "({} > {})"),
    "LessEqual": (lambda a, b: a <= b, "({} <= {})"), "GreaterEqual": (lambda a, b: a >= b, "({} >= {})"),
}  # fmt: skip
_FLOATS = frozenset({"Add", "AddV2", "Sub", "Mul"})
_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "RealDiv": np.divide, "Maximum": np.maximum, "Minimum": np.minimum, "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or,
}  # fmt: skip
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "Neg": np.negative, "Sqrt": np.sqrt, "Rsqrt": lambda x: 1 / np.sqrt(x), "Log": np.log, "Exp": np.exp,
    "LogicalNot": np.logical_not, "Ceil": np.ceil, "Floor": np.floor, "Square": np.square, "Abs": np.abs,
}  # fmt: skip


def fold(node: Node, values: Sequence[Value]) -> Host | None:
    """The value of a node that Python can compute; None if it needs arrays."""
    hosts = [value.host for value in values]
    if any(host is None for host in hosts) or not hosts:
        return None
    operands: list[Host] = [host for host in hosts if host is not None]
    if sum(host.size for host in operands) > MOST_IN_TEXT or len(node.results) != 1:
        return None
    result = _of_integers(node, operands)
    if result is not None and result.size > MOST_IN_TEXT:
        return None
    return result


def folded_parts(node: Node, values: Sequence[Value]) -> list[Host] | None:
    """The values of a node that unpacks a vector, if Python can compute them."""
    hosts = [value.host for value in values]
    if any(host is None for host in hosts) or node.type not in ("Unpack", "Split", "SplitV"):
        return None
    operands: list[Host] = [host for host in hosts if host is not None]
    of = operands[1] if node.type == "Split" else operands[0]
    if of.ndim != 1 or any(host.dtype == object for host in operands if host is not of):
        return None
    number = len(node.results)
    if node.type == "Unpack":
        return [_repack(element) for element in of]
    if node.type == "Split":
        return [_repack(part) for part in np.split(of, number)]
    sizes = [int(size) for size in operands[1]]
    sizes = [of.size - sum(sizes) - 1 if size < 0 else size for size in sizes]
    return [_repack(of[sum(sizes[:index]) : sum(sizes[: index + 1])]) for index in range(number)]


def _of_integers(node: Node, operands: list[Host]) -> Host | None:
    dtype = node.results[0].dtype
    is_known = all(host.dtype != object for host in operands)
    if node.type in _ARITHMETIC:
        integers = all(host.dtype == object or host.dtype.kind in "iub" for host in operands)
        if integers and not _divides_by_zero(node, operands):
            return _elementwise(node.type, operands[0], operands[1])
        if is_known and node.type in _FLOATS:
            return _ARITHMETIC[node.type][0](operands[0], operands[1])
    if is_known and node.type in _BINARY:
        return np.asarray(_BINARY[node.type](operands[0], operands[1]))
    if is_known and node.type in _UNARY:
        with np.errstate(all="ignore"):
            return np.asarray(_UNARY[node.type](operands[0]))
    if node.type == "Cast":
        return _cast(operands[0], dtype, node.results[0].follows)
    return _move(node, operands)


def _divides_by_zero(node: Node, operands: list[Host]) -> bool:
    return node.type in ("FloorDiv", "FloorMod") and any(
        isinstance(divisor, str) or divisor == 0 for divisor in operands[1].flat
    )


def _elementwise(kind: str, left: Host, right: Host) -> Host:
    compute, template = _ARITHMETIC[kind]
    pairs = np.broadcast(left, right)
    items = [
        template.format(a, b) if isinstance(a, str) or isinstance(b, str) else compute(int(a), int(b)) for a, b in pairs
    ]
    return _pack(items, pairs.shape)


def _pack(items: Sequence[Any], shape: Sequence[int]) -> Host:
    if any(isinstance(item, str) for item in items):
        result = np.empty(len(items), object)
        result[:] = items
        return result.reshape(shape)
    return np.array([item.item() if hasattr(item, "item") else item for item in items]).reshape(shape)


def _cast(value: Host, dtype: str, follows: bool) -> Host | None:
    if value.dtype == object:
        # As an integer of Python's it takes the type of what it is computed with.
        return value if dtype.startswith(("int", "float")) else None
    if dtype.startswith("bfloat"):
        return None
    return value.astype("float64" if follows and dtype.startswith("float") else dtype)


def _move(node: Node, operands: list[Host]) -> Host | None:
    """Elements that are put together, chosen or arranged anew."""
    first = operands[0]
    match node.type:
        case "StopGradient" | "Snapshot":
            return first
        case "Pack":
            axis = node.attributes.get("axis")
            return _repack(np.stack(operands, axis if isinstance(axis, int) else 0))
        case "ConcatV2" if operands[-1].dtype != object and all(host.ndim for host in operands[:-1]):
            return _repack(np.concatenate(operands[:-1], int(operands[-1].reshape(())[()])))
        case "StridedSlice" if all(host.dtype != object for host in operands[1:]):
            return _repack(first[indices(node, *operands[1:])])
        case "Slice" if first.ndim == 1 and all(host.dtype != object for host in operands[1:]):
            begin, size = int(operands[1][0]), int(operands[2][0])
            return _repack(first[begin : None if size < 0 else begin + size])
        case "Prod" if first.ndim == 1 and operands[1].size == 1 and not node.attributes.get("keep_dims"):
            return _product(first)
        case "Max" | "Min" if first.ndim == 0:
            return first
        case "GatherV2" if first.ndim == 1 and operands[1].dtype != object and operands[2].dtype != object:
            return _repack(first[operands[1].astype(int)])
        case "Reshape" if operands[1].dtype != object:
            return first.reshape([int(size) for size in operands[1]])
        case "ExpandDims" if operands[1].dtype != object:
            return np.expand_dims(first, int(operands[1].reshape(())[()]))
        case "Squeeze":
            axes = node.attributes.get("squeeze_dims")
            return np.squeeze(first, tuple(map(int, axes)) if isinstance(axes, list) and axes else None)
        case "Range" if all(host.dtype != object for host in operands):
            return np.array(range(*(int(host) for host in operands))) if operands[0].dtype.kind in "iu" else None
        case "Fill" if operands[0].dtype != object and np.prod(operands[0]) <= MOST_IN_TEXT:
            return _repack(np.full([int(size) for size in operands[0]], operands[1][()], operands[1].dtype))
        case "SelectV2" if operands[0].ndim == 0:
            return _choose(*operands)
        case "BroadcastArgs" if all(host.dtype != object for host in operands):
            return np.array(np.broadcast_shapes(*(tuple(int(i) for i in shape) for shape in operands)))
    return None


def _choose(condition: Host, yes: Host, no: Host) -> Host | None:
    """One of two numbers; where an expression decides, an expression of both."""
    if condition.dtype != object:
        return np.broadcast_arrays(yes, no)[0 if condition else 1]
    if yes.ndim or no.ndim:
        return None
    return _pack([f"({yes[()]} if {condition[()]} else {no[()]})"], ())


def _repack(value: Any) -> Host:
    array = np.asarray(value, object) if isinstance(value, str) else np.asarray(value)
    return _pack(array.reshape(-1).tolist(), array.shape) if array.dtype == object else array


def _product(value: Host) -> Host:
    numbers = [factor for factor in value.reshape(-1).tolist() if not isinstance(factor, str)]
    texts = [factor for factor in value.reshape(-1).tolist() if isinstance(factor, str)]
    if not texts:
        return np.array(int(np.prod(numbers)) if value.dtype.kind in "iu" else np.prod(numbers))
    times = int(np.prod(numbers)) if numbers else 1
    return _pack([f"({' * '.join(([str(times)] if times != 1 else []) + texts)})"], ())
