"""Says of two operations what differs between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from compare.hlo.causes import EXTRA, MISSING, Kind
from compare.hlo.graph import Node
from compare.hlo.locate._attempts import Parting
from compare.hlo.locate._departing import MeasuredProgram
from compare.hlo.numbering import COMMUTATIVE

_DEEPEST, _MOST_READ = 4, 3
_QUIET = frozenset({"parameter_number", "tuple_index"})


def difference(parting: Parting, kind: Kind, left: int | None, right: int | None) -> str:
    """The difference of the right operation from the left one, in words.

    Args:
      left: an operation of the left program; None where that has none.
    """
    label, port = parting.left.program.label, parting.right.program.label
    if kind == MISSING and left is not None:
        return f"{label} computes {operation_text(parting.left, left)} here, {port} nothing"
    if right is None or left is None:
        side, key = (parting.left, left) if right is None else (parting.right, right)
        assert key is not None
        extra = f", {label} nothing" if kind == EXTRA else ""
        return f"{side.program.label} computes {operation_text(side, key)} here{extra}"
    differences = list(_differences(parting, left, right))
    if differences:
        return "; ".join(differences)
    theirs, mine = _told_apart(parting, right, left)
    return f"it computes {theirs} where {label} computes {mine}"


def _differences(parting: Parting, left: int, right: int) -> Iterator[str]:
    label = parting.left.program.label
    mine, theirs = parting.left.program.node(left), parting.right.program.node(right)
    dtype, port_dtype = mine.shape.dtype, theirs.shape.dtype
    if dtype != port_dtype and "pred" not in (dtype, port_dtype):
        yield f"{port_dtype} where {label} has {dtype}"
    if mine.opcode != theirs.opcode:
        yield f"{operation_text(parting.right, right)} where {label} has {operation_text(parting.left, left)}"
        return
    constants, port_constants = constants_of(parting.left, left), constants_of(parting.right, right)
    if constants != port_constants and constants and port_constants:
        yield f"the constant is {_join_numbers(port_constants)}, {label} has {_join_numbers(constants)}"
    yield from _tables(parting, mine, theirs)
    for name in changed_attributes(mine, theirs):
        for field, ours, other in fields(name, mine.attribute(name), theirs.attribute(name)):
            yield f"{field} {other} where {label} has {ours}"
    for ours, region in zip(mine.regions, theirs.regions, strict=False):
        if opcodes(ours) != opcodes(region):
            yield f"it applies {' '.join(opcodes(region))} where {label} applies {' '.join(opcodes(ours))}"
    yield from _operands(parting, mine, theirs)


def _operands(parting: Parting, mine: Node, theirs: Node) -> Iterator[str]:
    if mine.opcode in ("while", "conditional"):
        return
    if are_swapped(parting, mine.id, theirs.id):
        yield "its operands are swapped"
        return
    expected, others = list(mine.operands), list[int]()
    for key in theirs.operands:
        same = next((partner for partner in expected if partner in parting.agreement.right.get(key, ())), None)
        if same is not None:
            expected.remove(same)
        elif key not in parting.right.program.constants:
            others.append(key)
    expected = [key for key in expected if key not in parting.left.program.constants]
    for key, partner in zip(others, expected, strict=False):
        label = parting.left.program.label
        own, other = _told_apart(parting, key, partner)
        yield f"it reads {own} where {label} reads {other}"


def _told_apart(parting: Parting, right: int, left: int) -> tuple[str, str]:
    """Two values in words that differ: with their operands, until those differ, or else with their lines."""
    for depth in range(_DEEPEST):
        own, other = describe(parting.right, right, depth), describe(parting.left, left, depth)
        if own != other:
            return own, other
    own, other = (_with_line(side, key) for side, key in ((parting.right, right), (parting.left, left)))
    return own, other


def _with_line(side: MeasuredProgram, key: int) -> str:
    original = side.program.node(side.program.original_of(key))
    line = side.program.node(key).source or original.source
    return f"{describe(side, key, 0)} ({line.rpartition('/')[2] or original.name})"


def describe(side: MeasuredProgram, key: int, depth: int) -> str:
    """A value in words: what fills it, or the operation that makes it, and so many operations before it.

    Args:
      depth: how many operations before it are named.
    """
    program = side.program
    key = program.original_of(key)
    operands = [operand for operand in program.node(key).operands if operand not in program.constants]
    if program.slot(key) or not depth or not operands:
        return value_text(side, key)
    read = " and ".join(describe(side, operand, depth - 1) for operand in operands[:_MOST_READ])
    return f"{value_text(side, key)} of {read}"


def _tables(parting: Parting, mine: Node, theirs: Node) -> Iterator[str]:
    """Constants of more than one number that differ: weights that the functions close over."""
    for ours, other in zip(mine.operands, theirs.operands, strict=False):
        left, right = parting.left.program.graph.constant(ours), parting.right.program.graph.constant(other)
        if left is None or right is None or min(left.size, right.size) < 2:
            continue
        label = parting.left.program.label
        if left.shape != right.shape:
            yield f"it reads a constant {_shape_text(right)} where {label} reads one of {_shape_text(left)}"
        elif not np.array_equal(left, right, equal_nan=left.dtype.kind == "f"):
            yield f"this constant {_shape_text(right)} differs from {label}'s {_first_apart(left, right)}"


def _shape_text(array: np.ndarray) -> str:
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def _first_apart(left: np.ndarray, right: np.ndarray) -> str:
    differs = ~((left == right) | ((left != left) & (right != right)))
    index = tuple(int(place) for place in np.argwhere(differs)[0])
    where = f"[{', '.join(map(str, index))}]"
    count = int(np.sum(differs))
    return f"in {count} of {left.size} elements: at {where} it is {right[index]:.7g} against {left[index]:.7g}"


def are_swapped(parting: Parting, left: int, right: int) -> bool:
    """Whether two operations whose operands have an order read the same two values the other way round."""
    mine, theirs = parting.left.program.node(left), parting.right.program.node(right)
    partners = [set(parting.agreement.right.get(key, ())) for key in theirs.operands]
    if mine.opcode != theirs.opcode or mine.opcode in COMMUTATIVE or not len(mine.operands) == len(partners) == 2:
        return False
    (first, second), (one, other) = mine.operands, partners
    return first in other and second in one and not (first in one and second in other)


def operation_text(side: MeasuredProgram, key: int) -> str:
    """An operation in words: its opcode and the constant that it reads."""
    node = side.program.node(key)
    constants = constants_of(side, key)
    by = f" by {_join_numbers(constants)}" if constants and len(node.operands) > 1 and not node.regions else ""
    inner = f" ({' '.join(opcodes(node.regions[0]))})" if node.regions and node.opcode == "reduce" else ""
    return f"{node.opcode}{inner}{by}"


def value_text(side: MeasuredProgram, key: int) -> str:
    """A value in words: what fills it, or the operation that makes it."""
    slot = side.program.slot(key)
    if slot:
        return slot
    return f"the {operation_text(side, side.program.original_of(key))}"


def constants_of(side: MeasuredProgram, key: int) -> tuple[float, ...]:
    """Values of the constant operands of an operation, of those that are one number throughout."""
    constants = []
    for operand in side.program.node(key).operands:
        arrays = side.measured.arrays.get(side.program.original_of(operand))
        if arrays and operand in side.program.constants and arrays[0].size == 1:
            constants.append(float(arrays[0].flat[0].real))
    return tuple(constants)


def changed_attributes(left: Node, right: Node) -> list[str]:
    """Names of attributes that two operations do not share."""
    mine, theirs = dict(left.attributes), dict(right.attributes)
    names = [name for name in {**mine, **theirs} if name not in _QUIET]
    return [name for name in names if mine.get(name) != theirs.get(name)]


def opcodes(region: Iterable[Node]) -> list[str]:
    """The opcodes of a region."""
    return [node.opcode for node in region if node.opcode not in ("parameter", "tuple")]


def _join_numbers(constants: tuple[float, ...]) -> str:
    return " and ".join(map(_number, constants))


def _number(value: float) -> str:
    """The number as in the source: 0.001, and not its rounded float32."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    return str(single) if float(single) == value else f"{value:.9g}"


def fields(name: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """The parts of an attribute that differ, by name: of a window, by what every dimension has.

    Args:
      left: its value on the left; None of an operation that has none.
    """
    mine, theirs = _named_fields(left), _named_fields(right)
    if mine is None or theirs is None:
        yield name, _or_none(left), _or_none(right)
        return
    for field in dict.fromkeys((*mine, *theirs)):
        if mine.get(field) != theirs.get(field):
            yield field, _or_none(mine.get(field)), _or_none(theirs.get(field))


def _or_none(value: Any) -> Any:
    return "none" if value is None else value


def _named_fields(value: Any) -> dict[str, Any] | None:
    """A message's fields; those of messages in a list side by side."""
    if value is None:
        return {}
    if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return None
    fields: dict[str, Any] = {}
    for field, inner in value:
        rows = [_named_fields(part) for part in inner] if isinstance(inner, tuple) else [None]
        if not rows or any(row is None for row in rows):
            fields[field] = inner
            continue
        messages = [row for row in rows if row is not None]
        for part in dict.fromkeys(part for row in messages for part in row):
            fields[part] = tuple(row.get(part, 0) for row in messages)
    return fields
