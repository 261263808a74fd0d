"""Parts of a value that are read in another order, such as the gates of a recurrent cell."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from compare.hlo import values
from compare.hlo.graph import Graph, Node
from compare.hlo.locate._attempts import Parting
from compare.hlo.locate._canonical import Computation, runnable
from compare.hlo.locate._search import count_mended

_MOST_PARTS = 4
_MOST_MOVED = 3
_MOST_NODES = 8000
"""The most nodes of all programs together that are tried, one for every order."""
_GATES = frozenset({"logistic", "tanh"})


class Range(NamedTuple):
    """A part along the axis, `limit` excluded."""

    start: int
    limit: int


class Split(NamedTuple):
    """The shape of what is cut, and along which axis."""

    shape: tuple[int, ...]
    axis: int


class Cut(NamedTuple):
    """A part that is cut out."""

    split: Split
    part: Range


@dataclass(frozen=True)
class Reordered:
    """Parts that are read in another order: all results agree once they are read in the right one.

    Attributes:
      part: the first operation that cuts one of them out.
      moved: (the part that is read, the part that has to be) along the axis.
      gates: whether they become gates of a recurrent cell.
    """

    part: Node
    moved: tuple[tuple[Range, Range], ...]
    gates: bool

    def difference(self, label: str) -> str:
        """A sentence on the part that is read and the right one."""
        read, expected = (
            ", ".join(f"{start}:{limit}" for start, limit in ranges) for ranges in zip(*self.moved, strict=True)
        )
        return f"it reads the parts {read} where {label} reads {expected}"


def find_reordering(parting: Parting, cases: Sequence[Sequence[np.ndarray]]) -> Reordered | None:
    """The parts whose order alone makes the results differ; None where there are none."""
    program = parting.right.program
    size = sum(1 for _ in program.graph.walk())
    for split, parts in _splits(program.graph).items():
        # Each order that is tried is compiled: that takes a second, and most programs cut something into parts.
        orders = [order for order in _orders(parts) if _may_be_misread(parting, split, order)]
        for order in orders if len(orders) * size <= _MOST_NODES else []:
            if _agrees(parting, _read_in(program.graph, split, order), cases):
                return _describe(program, split, order)
    return None


def _may_be_misread(parting: Parting, split: Split, order: Mapping[Range, Range]) -> bool:
    """Whether something departs behind each part that moves; True of parts that are cut out in regions alone."""
    graph = parting.right.program.graph
    cuts: dict[Range, list[int]] = {}
    for node in graph:
        cut = _cut(graph, node)
        if cut is not None and cut.split == split and cut.part in order:
            cuts.setdefault(cut.part, []).append(node.id)
    return all(any(_departs_behind(parting, key) for key in keys) for keys in cuts.values())


def _departs_behind(parting: Parting, key: int) -> bool:
    """Whether a value departs that reads this one, directly or through functions of nothing else.

    A value that joins this one with another and agrees was computed from the right part. A function of the part alone
    proves nothing: TensorFlow has the same value where a gate of a recurrent cell is taken for another.
    """
    program, departing_keys = parting.right.program, set(parting.departed.right)
    waiting = list(program.users[key])
    while waiting:
        user = waiting.pop()
        if user in departing_keys:
            return True
        variables = {operand for operand in program.node(user).operands if operand not in program.constants}
        if len(variables) == 1:
            waiting += program.users[user]
    return False


def _agrees(parting: Parting, graph: Graph, cases: Sequence[Sequence[np.ndarray]]) -> bool:
    program = parting.right.program
    prepared_graph = values.prepare(runnable(graph), list(program.results.values()))
    names = [name for name in program.results if name in parting.left.program.results]
    return count_mended(parting, lambda case: prepared_graph(cases[case]), names) == len(names)


def _splits(graph: Graph) -> dict[Split, list[Range]]:
    """The values that are cut into equal parts, also in regions, and their parts."""
    splits: dict[Split, set[Range]] = {}
    for computation in _graphs(graph):
        for node in computation:
            cut = _cut(computation, node)
            if cut is not None:
                splits.setdefault(cut.split, set()).add(cut.part)
    alike = {split: [one for one in parts if one.limit - one.start == _width(parts)] for split, parts in splits.items()}
    return {split: sorted(parts) for split, parts in alike.items() if 1 < len(parts) <= _MOST_PARTS}


def _width(parts: set[Range]) -> int:
    widths = [limit - start for start, limit in parts]
    return max(widths, key=widths.count)


def _graphs(graph: Graph) -> Iterator[Graph]:
    yield graph
    for node in graph:
        for region in node.regions:
            yield from _graphs(region)


def _cut(graph: Graph, node: Node) -> Cut | None:
    """The operand and the position of a slice along one axis."""
    if node.opcode != "slice":
        return None
    whole = graph.nodes[node.operands[0]].shape.dimensions
    cuts = [Cut(Split(whole, axis), part) for axis, part in enumerate(_ranges(node)) if part != (0, whole[axis])]
    return next(iter(cuts)) if len(cuts) == 1 else None


def _ranges(node: Node) -> list[Range]:
    rows = [dict(dimension) for dimension in node.attribute("slice_dimensions", ())]
    return [Range(int(row.get("start", 0)), int(row.get("limit", 0))) for row in rows]


def _orders(parts: Sequence[Range]) -> Iterator[dict[Range, Range]]:
    """Every other order of up to so many parts, those first that move the fewest."""
    orders = [
        {one: other for one, other in zip(parts, order, strict=True) if one != other}
        for order in itertools.permutations(parts)
    ]
    yield from sorted((order for order in orders if 0 < len(order) <= _MOST_MOVED), key=len)


def _read_in(graph: Graph, split: Split, order: Mapping[Range, Range]) -> Graph:
    nodes = {key: _move_cut(graph, node, split, order) for key, node in graph.nodes.items()}
    return dataclasses.replace(graph, nodes=nodes)


def _move_cut(graph: Graph, node: Node, split: Split, order: Mapping[Range, Range]) -> Node:
    regions = tuple(_read_in(region, split, order) for region in node.regions)
    cut = _cut(graph, node)
    if cut is None or cut.split != split or cut.part not in order:
        return node.but(regions=regions)
    start, limit = order[cut.part]
    rows = list(node.attribute("slice_dimensions", ()))
    rows[split.axis] = tuple((dict(rows[split.axis]) | {"start": start, "limit": limit}).items())
    attributes = tuple(sorted((dict(node.attributes) | {"slice_dimensions": tuple(rows)}).items()))
    return node.but(attributes=attributes)


def _describe(program: Computation, split: Split, order: Mapping[Range, Range]) -> Reordered:
    for graph in _graphs(program.graph):
        for node in graph:
            cut = _cut(graph, node)
            if cut is not None and cut.split == split and cut.part in order:
                gates = any(node.opcode in _GATES for node in graph)
                return Reordered(node, tuple(order.items()), gates and len(order) > 1)
    raise AssertionError("expected a part that is moved, found none: it was one a moment ago")
