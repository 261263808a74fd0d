"""Several regions of a split as one program a side, whose parameters are the cut points that they read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from compare.hlo.graph import Graph, Node
from compare.hlo.pair import Pair
from compare.regions.parts import Region, Regions
from compare.regions.pieces import as_parameter


@dataclass(frozen=True, eq=False)
class OpenPrograms:
    """Both pieces of every region, each side's in one program.

    Attributes:
      graphs: of either side; after the shared parameters come those that its program alone takes.
      read: cut points by position in `Regions.cut_points`, in the order of the shared parameters.
      alone: of either program, ids of the parameters that it alone takes.
      regions: whose outputs the results are, in their order.
    """

    graphs: Pair[Graph]
    read: tuple[int, ...]
    alone: Pair[tuple[int, ...]]
    regions: tuple[Region, ...]

    def results(self, side: int) -> list[tuple[int, int]]:
        """For each result of a side, the position of its region and its position among the outputs of the piece."""
        return [
            (position, place)
            for position, region in enumerate(self.regions)
            for place in range(len(region.pieces[side].outputs))
        ]


def merge_regions(members: Sequence[Region], regions: Regions) -> OpenPrograms:
    """One program a side that computes the outputs of all these regions, from what they read."""
    read = tuple(sorted({position for region in members for position in region.inputs}))
    alone = Pair(*(_alone(members, side) for side in (0, 1)))
    graphs = Pair(*(_Merging(regions, read, alone[side], side).merge(members) for side in (0, 1)))
    return OpenPrograms(graphs, read, alone, tuple(members))


def count_roundings(region: Region, graph: Graph) -> float:
    """The most roundings in a row of TensorFlow's piece, as `stablehlo_text.roundings` counts those of a program."""
    nodes = [graph.nodes[key] for key in region.pieces.left.nodes]
    terms = (_terms(node, graph.nodes[key]) for node in nodes for key in node.operands)
    return sum(_is_float(node) for node in nodes) + math.sqrt(max(terms, default=1))


def _terms(node: Node, operand: Node) -> float:
    """How many elements of an operand become one of the result, at most."""
    whole = node.opcode in ("dot", "convolution") or not node.shape.is_array
    return operand.shape.elements / (1 if whole else max(1, node.shape.elements))


def _is_float(node: Node) -> bool:
    return node.shape.is_array and node.shape.dtype[0] in "fbc" and node.opcode not in ("constant", "parameter")


def _alone(members: Sequence[Region], side: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(key for region in members for key in region.pieces[side].alone))


@dataclass
class _Merging:
    """Writes the graph of one side.

    Attributes:
      regions: the split.
      read: cut points that become parameters.
      alone: ids of parameters that the program of this side alone takes.
      side: 0 for TensorFlow's program.
    """

    regions: Regions
    read: tuple[int, ...]
    alone: tuple[int, ...]
    side: int
    nodes: dict[int, Node] = field(default_factory=dict)
    copies: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    def merge(self, group: Sequence[Region]) -> Graph:
        """The graph of these regions; what two of them compute alike from the same cut points is there once."""
        source = self.regions.graphs[self.side]
        keys = [self.regions.cut_points[position].nodes[self.side] for position in self.read]
        cut = dict(zip(self.read, range(len(self.read)), strict=True))
        for number, key in enumerate((*(members[0] for members in keys), *self.alone)):
            self.nodes[number] = as_parameter(source.nodes[key], number).but(id=number)
        parameters = tuple(self.nodes)
        alone = dict(zip(self.alone, parameters[len(self.read) :], strict=True))
        results = [number for region in group for number in self._outputs(region, source, cut, alone)]
        return Graph("open regions", self.nodes, parameters, tuple(results))

    def _outputs(self, region: Region, source: Graph, cut: dict[int, int], alone: dict[int, int]) -> list[int]:
        piece = region.pieces[self.side]
        places = dict(alone)
        for position in region.inputs:
            places |= dict.fromkeys(self.regions.cut_points[position].nodes[self.side], cut[position])
        for key in piece.nodes:
            if key not in alone:
                places[key] = self._copy(source.nodes[key], tuple(places[one] for one in source.nodes[key].operands))
        return [places[key] for key in piece.outputs]

    def _copy(self, node: Node, operands: tuple[int, ...]) -> int:
        copy_id = self.copies.get((node.id, operands))
        if copy_id is None:
            copy_id = self.copies[node.id, operands] = len(self.nodes)
            self.nodes[copy_id] = node.but(id=copy_id, operands=operands)
        return copy_id
