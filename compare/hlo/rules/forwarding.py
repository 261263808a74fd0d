"""Rules that drop what does nothing."""

from __future__ import annotations

from compare.hlo.graph import Node
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import FLOATS, INTEGERS, reshape, transpose

_IDENTITIES = frozenset({"copy", "opt-barrier", "add-dependency"})
_CALLED_IDENTITIES = frozenset({"Sharding", "annotate_device_placement", "LayoutConstraint"})
_MOVING = ("reshape", "broadcast", "transpose", "slice", "concatenate", "bitcast-convert", "convert")
_EXPONENTS = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}


def _forward_tuples(node: Node, graph: Writer) -> int | None:
    if graph[node.operands[0]].opcode != "tuple":
        return None
    return graph[node.operands[0]].operands[node.attribute("tuple_index")]


def _drop_identities(node: Node, graph: Writer) -> int | None:
    if node.opcode == "custom-call" and node.attribute("custom_call_target") not in _CALLED_IDENTITIES:
        return None
    return node.operands[0]


def _drop_same_shape(node: Node, graph: Writer) -> int | None:
    """An operation that only moves, repeats or cuts elements, with the same shape in the same order, is its operand."""
    if len(node.operands) != 1 or node.shape != graph[node.operands[0]].shape:
        return None
    if node.opcode == "slice" or node.opcode == "concatenate" or not _reorders(node):
        return node.operands[0]
    return None


def _reorders(node: Node) -> bool:
    order = node.attribute("dimensions", ())
    return node.opcode in ("broadcast", "transpose") and order != tuple(range(len(node.shape.dimensions)))


def _drop_reverse(node: Node, graph: Writer) -> int | None:
    if any(node.shape.dimensions[axis] > 1 for axis in node.attribute("dimensions", ())):
        return None
    return node.operands[0]


def _drop_padding(node: Node, graph: Writer) -> int | None:
    if any(_edges(node)):
        return None
    return node.operands[0]


def _edges(node: Node) -> list[int]:
    config = dict(node.attribute("padding_config", ()))
    return [value for dimension in config.get("dimensions", ()) for _, value in dimension]


def _drop_rounding(node: Node, graph: Writer) -> int | None:
    if node.shape.dtype not in FLOATS:
        return None
    bits = node.attribute("exponent_bits", 0), node.attribute("mantissa_bits", 0)
    own = _EXPONENTS[node.shape.dtype], FLOATS[node.shape.dtype]
    return node.operands[0] if bits[0] >= own[0] and bits[1] >= own[1] else None


def _join_converts(node: Node, graph: Writer) -> int | None:
    if graph[node.operands[0]].opcode != "convert":
        return None
    inner = graph[node.operands[0]]
    source = graph[inner.operands[0]].shape.dtype
    saturates = inner.shape.dtype in FLOATS and node.shape.dtype in INTEGERS
    # What is too large becomes the largest between a float and an integer, and wraps between integers.
    if not holds_all(inner.shape.dtype, source) or (saturates and not holds_all(node.shape.dtype, source)):
        return None
    return graph.add("convert", node.shape, inner.operands)


def holds_all(wide: str, narrow: str) -> bool:
    """Whether every value of one dtype is a value of the other."""
    if narrow == "pred":
        return wide in FLOATS or wide in INTEGERS
    if narrow in INTEGERS and wide in INTEGERS:
        signs = narrow[0] == wide[0] or (narrow[0] == "u" and wide[0] == "s")
        return signs and INTEGERS[wide] >= INTEGERS[narrow] + (narrow[0] != wide[0])
    if narrow in INTEGERS and wide in FLOATS:
        return FLOATS[wide] >= INTEGERS[narrow]
    if narrow in FLOATS and wide in FLOATS:
        return FLOATS[wide] >= FLOATS[narrow] and _EXPONENTS[wide] >= _EXPONENTS[narrow]
    return False


def _spell_bitcast(node: Node, graph: Writer) -> int | None:
    layouts = node.attribute("layouts")
    if layouts is None:
        return None
    source = graph[node.operands[0]].shape
    if source.dtype != node.shape.dtype:
        same = source.dimensions == node.shape.dimensions and layouts[0] == layouts[1]
        return graph.add("bitcast-convert", node.shape, node.operands) if same else None
    before, after = (
        tuple(reversed(layout)) or tuple(range(len(shape.dimensions)))
        for layout, shape in zip(layouts, (source, node.shape), strict=True)
    )
    flat = transpose(node.operands[0], before, graph)
    flat = reshape(flat, [node.shape.dimensions[axis] for axis in after], graph)
    return transpose(flat, [after.index(axis) for axis in range(len(after))], graph)


FORWARDING = (
    Rule(
        "tuples forwarded",
        "a part taken out of a tuple that was just made is that part",
        ("get-tuple-element",),
        _forward_tuples,
    ),
    Rule(
        "identities dropped",
        "copies, barriers and sharding marks return what they are given",
        _IDENTITIES | {"custom-call"},
        _drop_identities,
    ),
    Rule(
        "layouts spelled out",
        "a bitcast is a transpose where layouts differ, a reshape, or one of each element",
        ("bitcast",),
        _spell_bitcast,
    ),
    Rule(
        "no-ops dropped",
        "a reshape, convert, slice and the like to the same shape change nothing",
        _MOVING,
        _drop_same_shape,
    ),
    Rule("empty reversals dropped", "dimensions of size 1 are their own reverse", ("reverse",), _drop_reverse),
    Rule("empty padding dropped", "nothing is added on any side", ("pad",), _drop_padding),
    Rule(
        "empty rounding dropped", "a value is rounded to as many bits as it has", ("reduce-precision",), _drop_rounding
    ),
    Rule(
        "converts joined",
        "a convert to a type that holds all values of its operand's loses nothing",
        ("convert",),
        _join_converts,
    ),
)
"""In the order in which they are tried."""
