"""Rules of constants: one form for each, and work on them done at once where its result is certain to the bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compare.hlo.graph import Node, Shape
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import ELEMENTWISE, fill, is_float, is_integer, numpy_type, splat, spread
from compare.hlo.rules.forwarding import holds_all

_LARGEST = 4096
"""Elements of a constant that is worth moving about."""

_KNOWN = ("constant", "iota", "broadcast")

_Function = Callable[..., Any]

# IEEE 754 rounds these correctly: every processor gives the same bits.
_EXACT: Mapping[str, _Function] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "negate": np.negative, "abs": np.abs,
}  # fmt: skip
_FLOATS: Mapping[str, _Function] = {"divide": np.divide, "floor": np.floor, "ceil": np.ceil}
_LOGICAL: Mapping[str, _Function] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
}
_COMPARE: Mapping[str, _Function] = {
    "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
}  # fmt: skip


def _spread_splats(node: Node, graph: Writer) -> int | None:
    if node.literal is None or not node.shape.dimensions or node.literal.size == 0:
        return None
    flat = np.ascontiguousarray(node.literal).reshape(-1)
    if not _same_bits(flat):
        return None
    return spread(graph.constant(flat[:1].reshape(()), node.shape.dtype), node.shape.dimensions, graph)


def _same_bits(flat: np.ndarray) -> bool:
    rows = flat.view(np.uint8).reshape(flat.size, -1)
    # Most constants show in their first elements that they are no splat.
    return bool((rows[:2] == rows[0]).all() and (rows == rows[0]).all())


def _count_up(node: Node, graph: Writer) -> int | None:
    if node.literal is None or len(node.shape.dimensions) != 1:
        return None
    if not (is_integer(node.shape) or node.shape.dtype in ("f32", "f64")) or node.shape.elements > _LARGEST:
        return None
    if not np.array_equal(node.literal, np.arange(node.literal.size)) or np.signbit(node.literal[0]):
        return None
    return graph.add("iota", node.shape, (), (("dimensions", (0,)),))


def _iota_of_one(node: Node, graph: Writer) -> int | None:
    return fill(0, node.shape, graph) if node.shape.dimensions == (1,) else None


def _move(node: Node, graph: Writer) -> int | None:
    if node.shape.elements > _LARGEST:
        return None
    literal = graph[node.operands[0]].literal
    if literal is None or literal.size > _LARGEST:
        return None
    return graph.constant(np.ascontiguousarray(_rearrange(node, literal)), node.shape.dtype)


def _rearrange(node: Node, literal: np.ndarray) -> np.ndarray:
    if node.opcode == "reshape":
        return literal.reshape(node.shape.dimensions)
    if node.opcode == "slice":
        return literal[tuple(slice(*bounds) for bounds in slices(node))]
    along = node.attribute("dimensions", ())
    return literal.transpose(along) if node.opcode == "transpose" else np.flip(literal, along)


def slices(node: Node) -> list[tuple[int, int, int]]:
    """Start, limit and stride of every dimension of a slice."""
    dimensions = [dict(fields) for fields in node.attribute("slice_dimensions")]
    return [
        (dimension.get("start", 0), dimension.get("limit", 0), dimension.get("stride", 1)) for dimension in dimensions
    ]


def _convert(node: Node, graph: Writer) -> int | None:
    if not _numeric(node.shape) or not _numeric(graph[node.operands[0]].shape):
        return None
    source = graph[node.operands[0]]
    if source.literal is None or source.literal.size > _LARGEST or not _converts(source, node.shape.dtype):
        return None
    return graph.constant(source.literal.astype(numpy_type(node.shape.dtype)), node.shape.dtype)


def _converts(source: Node, dtype: str) -> bool:
    """Whether NumPy and XLA are sure to agree: exact, or rounded once to the nearest."""
    if holds_all(dtype, source.shape.dtype):
        return True
    literal = source.literal
    if literal is None or not np.isfinite(literal).all():
        return False
    if is_float(Shape(dtype)):
        magnitudes = np.abs(literal.astype(numpy_type(dtype)))
        return bool(
            np.all((literal == 0) | ((magnitudes >= np.finfo(magnitudes.dtype).tiny) & np.isfinite(magnitudes)))
        )
    return bool(np.all(literal == literal.astype(numpy_type(dtype))))


def _numeric(shape: Shape) -> bool:
    return shape.dtype in ("pred", "f32", "f64") or is_integer(shape)


def _compute(node: Node, graph: Writer) -> int | None:
    """Elementwise work on constants and iotas; that on splats is done on scalars by then."""
    if node.shape.elements > _LARGEST or any(graph[key].opcode not in _KNOWN for key in node.operands):
        return None
    if not all(_numeric(graph[key].shape) for key in node.operands) or not _numeric(node.shape):
        return None
    operand_values = [_constant_value(key, graph) for key in node.operands]
    if any(operand is None for operand in operand_values):
        return None
    with np.errstate(all="ignore"):
        value = _evaluate(node, [operand for operand in operand_values if operand is not None])
    if value is None or not all(_certain(literal) for literal in (value, *operand_values) if literal is not None):
        return None
    whole = np.broadcast_to(np.asarray(value, numpy_type(node.shape.dtype)), node.shape.dimensions)
    return graph.constant(np.ascontiguousarray(whole).reshape(node.shape.dimensions), node.shape.dtype)


def _constant_value(key: int, graph: Writer) -> Any:
    node = graph[key]
    if node.opcode == "iota" and len(node.shape.dimensions) == 1:
        return np.arange(node.shape.elements).astype(numpy_type(node.shape.dtype))
    if node.opcode == "constant" and node.literal is not None:
        return node.literal if node.shape.dimensions else node.literal.reshape(())[()]
    return splat(key, graph)


def _evaluate(node: Node, operands: list[Any]) -> Any:
    kind = operands[0].dtype.kind
    if node.opcode == "compare":
        return _COMPARE[node.attribute("comparison_direction")](*operands)
    if node.opcode == "select":
        return np.where(*operands)
    if node.opcode in _LOGICAL:
        return _LOGICAL[node.opcode](*operands) if kind != "f" else None
    if node.opcode in _EXACT:
        return _EXACT[node.opcode](*operands) if kind != "b" else None
    if node.opcode in _FLOATS and kind == "f":
        return _FLOATS[node.opcode](*operands)
    if node.opcode in ("divide", "remainder") and kind in "iu" and (np.asarray(operands[1]) > 0).all():
        return _truncate(node.opcode, operands)
    return None


def _truncate(opcode: str, operands: list[Any]) -> Any:
    """Division of integers towards 0, as XLA has it; NumPy rounds down."""
    rest = np.fmod(*operands)
    return rest if opcode == "remainder" else (operands[0] - rest) // operands[1]


def _certain(value: Any) -> bool:
    """Whether there is no NaN, whose bits are anyone's, and no subnormal, which some processors make zero."""
    if value.dtype.kind != "f":
        return True
    return bool(np.all((value == 0) | (np.abs(value) >= np.finfo(value.dtype).tiny)))


CONSTANTS = (
    Rule(
        "splats spread",
        "a constant that is one number everywhere is that number, broadcast",
        ("constant",),
        _spread_splats,
    ),
    Rule("counting constants", "a constant that counts up from 0 is an iota", ("constant",), _count_up),
    Rule("iotas of one", "an iota of one element is 0", ("iota",), _iota_of_one),
    Rule(
        "constants moved",
        "a small constant is reshaped, transposed, cut or reversed at once",
        ("reshape", "transpose", "slice", "reverse"),
        _move,
    ),
    Rule(
        "constants converted",
        "a small constant is converted at once where all agree on the result",
        ("convert",),
        _convert,
    ),
    Rule(
        "constants computed",
        "work on small constants is done at once where it is rounded correctly",
        ELEMENTWISE,
        _compute,
    ),
)
"""In the order in which they are tried."""
