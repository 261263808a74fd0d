"""Finds the uses of a program's integers: in arithmetic, as an index, as a count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.hlo.graph import Graph, Node

_HANDS_ON = ("broadcast", "reshape", "transpose", "copy", "bitcast", "convert", "slice", "concatenate", "reverse")
_BRINGS_IN = ("select", "clamp", "minimum", "maximum")
"""Opcodes that bring an index into the range of its table: the table's size still bounds it."""


@dataclass(frozen=True)
class Use:
    """How a program uses one integer parameter.

    Attributes:
      counts: whether a loop depends on it: any value but a small one may never end.
      indexes: whether it picks elements of an array.
      table: how many there are to pick from, where the integer alone says which; 0 where that is not known.
      divides: whether something is divided by it.
      shifts: whether something is shifted by it.
    """

    counts: bool = False
    indexes: bool = False
    table: int = 0
    divides: bool = False
    shifts: bool = False

    def __or__(self, other: Use) -> Use:
        tables = [table for table in (self.table, other.table) if table]
        return Use(
            self.counts or other.counts,
            self.indexes or other.indexes,
            min(tables, default=0),
            self.divides or other.divides,
            self.shifts or other.shifts,
        )


def use(graph: Graph, parameter: int) -> Use:
    """How a program uses the parameter at a position."""
    users = graph.users
    start = graph.parameters[parameter]
    uses, seen_pairs, waiting = Use(), {(start, True)}, [(start, True)]
    while waiting:
        key, direct = waiting.pop()
        for user in users[key]:
            node = graph.nodes[user]
            uses |= _use_by(graph, node, key, direct)
            for following in _following(graph, node, key, direct, users):
                if following not in seen_pairs:
                    seen_pairs.add(following)
                    waiting.append(following)
    return uses


def _use_by(graph: Graph, node: Node, key: int, direct: bool) -> Use:
    """The use of a value by one reader."""
    position = node.operands.index(key)
    match node.opcode:
        case "while" | "conditional":
            # What stands in a branch is not looked at: it may be a loop.
            return Use(counts=True)
        case "gather" if position == 1:
            return Use(indexes=True, table=_table(graph, node, "gather", "start_index_map") if direct else 0)
        case "scatter" if position == len(node.operands) // 2:
            return Use(
                indexes=True, table=_table(graph, node, "scatter", "scatter_dims_to_operand_dims") if direct else 0
            )
        case "dynamic-slice" if position > 0:
            return Use(indexes=True)
        case "dynamic-update-slice" if position > 1:
            return Use(indexes=True)
        case "divide" | "remainder" if position == 1:
            return Use(divides=True)
        case "shift-left" | "shift-right-logical" | "shift-right-arithmetic" if position == 1:
            return Use(shifts=True)
    return Use()


def _table(graph: Graph, node: Node, opcode: str, dimensions: str) -> int:
    """How many elements there are to pick from, or to write to, in the shortest dimension that is indexed."""
    table = graph.nodes[node.operands[0]].shape.dimensions
    return min((table[dim] for dim in _numbers(node, f"{opcode}_dimension_numbers", dimensions)), default=0)


def _numbers(node: Node, attribute: str, name: str) -> tuple[int, ...]:
    numbers = dict(node.attribute(attribute, ())).get(name, ())
    return tuple(int(number) for number in numbers) if isinstance(numbers, (tuple, list)) else ()


def _following(
    graph: Graph, node: Node, key: int, direct: bool, users: Mapping[int, Sequence[int]]
) -> Iterator[tuple[int, bool]]:
    """The reader, where its own value depends on the integer as an index or a divisor may."""
    if node.opcode == "tuple":
        yield node.id, False
    elif node.shape.is_array and node.shape.dtype[0] in "su" and node.opcode not in ("gather", "scatter"):
        # n + size, where n is negative, is how JAX counts from the end.
        alone = node.opcode in (*_HANDS_ON, "add") or (
            node.opcode in _BRINGS_IN and all(_is_wrapped(graph, operand, key) for operand in node.operands)
        )
        yield node.id, direct and alone and not (node.opcode == "add" and not _is_choice(graph, users[node.id], key))


def _is_choice(graph: Graph, readers: Sequence[int], key: int) -> bool:
    """Whether all readers of a sum choose between it and the integer itself."""
    nodes = [graph.nodes[reader] for reader in readers]
    return all(node.opcode == "select" and key in node.operands for node in nodes)


def _is_wrapped(graph: Graph, operand: int, key: int) -> bool:
    """Whether an operand is the integer, a constant, a condition, or the integer counted from the end."""
    node = graph.nodes[operand]
    while node.opcode in _HANDS_ON and operand != key:
        operand = node.operands[0]
        node = graph.nodes[operand]
    return (
        operand == key
        or node.opcode == "constant"
        or node.shape.dtype == "pred"
        or (node.opcode == "add" and key in node.operands)
    )
