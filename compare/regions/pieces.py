"""Pieces of a region as programs of their own, whose parameters are the cut points that the region reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.hlo.graph import Graph, Node
from compare.hlo.numbering import COMMUTATIVE, digest_of, digests, region_digest, slot_digest
from compare.hlo.pair import Pair
from compare.regions.parts import Region, Regions

_REFINEMENTS = 2


@dataclass(frozen=True, eq=False)
class RegionPrograms:
    """Both pieces as graphs, which take the same parameters first, in one order.

    Attributes:
      graphs: of either piece; after the shared parameters come those that its program alone takes.
      inputs: cut points by position in `Regions.cut_points`, in the order of the shared parameters.
      alone: of either program, ids of the parameters that it alone takes.
    """

    graphs: Pair[Graph]
    inputs: tuple[int, ...]
    alone: Pair[tuple[int, ...]]

    @property
    def slots(self) -> Pair[list[str]]:
        """A name for each parameter: equal ones for those that both pieces take."""
        inputs = [f"input {number}" for number in range(len(self.inputs))]
        left, right = self.alone
        return Pair([*inputs, *(f"left {key}" for key in left)], [*inputs, *(f"right {key}" for key in right)])


def make_programs(region: Region, regions: Regions) -> RegionPrograms:
    """Both pieces of a region.

    The order of their parameters follows from what the pieces compute, and not from where they stand: identical
    regions of two layers give identical programs.
    """
    plain = _programs(region, regions, region.inputs)
    order = _order_of_use(plain)
    return _programs(region, regions, tuple(region.inputs[number] for number in order))


def identify(programs: RegionPrograms) -> bytes:
    """A digest that is equal where both pieces compute the same of their shared parameters.

    Args:
      programs: of a region without parameters that one program alone takes.
    """
    colors = {position: str(position).encode() for position in range(len(programs.inputs))}
    alike = programs.graphs.map(lambda graph: _digests_by(graph, colors))
    results = zip(programs.graphs, alike, strict=True)
    return b"|".join(b"".join(by_value[key] for key in graph.results) for graph, by_value in results)


def _programs(region: Region, regions: Regions, inputs: tuple[int, ...]) -> RegionPrograms:
    left, right = (_program(region, regions, inputs, side) for side in (0, 1))
    return RegionPrograms(Pair(left, right), inputs, region.pieces.map(lambda piece: piece.alone))


def _program(region: Region, regions: Regions, inputs: Sequence[int], side: int) -> Graph:
    graph, piece = regions.graphs[side], region.pieces[side]
    places: dict[int, int] = {}
    nodes: dict[int, Node] = {}
    for number, cut in enumerate(inputs):
        keys = regions.cut_points[cut].nodes[side]
        places |= dict.fromkeys(keys, number)
        nodes[number] = as_parameter(graph.nodes[keys[0]], number).but(id=number)
    parameters = list(nodes)
    for key in (*piece.alone, *(key for key in piece.nodes if key not in piece.alone)):
        places[key] = number = len(nodes)
        node = graph.nodes[key]
        if key in piece.alone:
            parameters.append(number)
            nodes[number] = as_parameter(node, number).but(id=number)
        else:
            nodes[number] = node.but(id=number, operands=tuple(places[operand] for operand in node.operands))
    return Graph("region", nodes, tuple(parameters), tuple(places[key] for key in piece.outputs))


def as_parameter(node: Node, number: int) -> Node:
    """A parameter at this position in place of a value."""
    attributes = (("parameter_number", number),)
    return node.but(opcode="parameter", operands=(), attributes=attributes, literal=None, regions=(), hints=())


def _order_of_use(plain: RegionPrograms) -> list[int]:
    """The shared parameters in the order in which a walk from the outputs meets them, those of the left piece first.

    Where an operation may take its operands in either order, the walk orders them by their digests.
    """
    order: dict[int, None] = {}
    alike = _computed_alike(plain)
    for graph, digest in zip(plain.graphs, alike, strict=True):
        waiting = sorted(graph.results, key=digest.__getitem__, reverse=True)
        visits = set[int]()
        while waiting:
            key = waiting.pop()
            if key in visits:
                continue
            visits.add(key)
            if key < len(plain.inputs):
                order[key] = None
            node = graph.nodes[key]
            operands = sorted(node.operands, key=digest.__getitem__) if node.opcode in COMMUTATIVE else node.operands
            waiting.extend(reversed(operands))
    return [*order]


def _computed_alike(plain: RegionPrograms) -> Pair[dict[int, bytes]]:
    """By value of either piece, a digest that does not depend on how the shared parameters are numbered.

    Shapes distinguish the parameters, and then the operations that read them.
    """
    colors = dict.fromkeys(range(len(plain.inputs)), b"")
    alike = plain.graphs.map(lambda graph: _digests_by(graph, colors))
    for _ in range(_REFINEMENTS if len(colors) > 1 else 0):
        readers: dict[int, list[bytes]] = {key: [] for key in colors}
        for graph, digest in zip(plain.graphs, alike, strict=True):
            for node in graph:
                for number, key in enumerate(node.operands):
                    if key in readers:
                        place = b"" if node.opcode in COMMUTATIVE else bytes([number % 256])
                        readers[key].append(digest[node.id] + place)
        colors = {
            key: hashlib.blake2b(b"".join(sorted(read)), digest_size=16).digest() for key, read in readers.items()
        }
        alike = plain.graphs.map(lambda graph, colors=colors: _digests_by(graph, colors))
    return alike


def _digests_by(graph: Graph, colors: Mapping[int, bytes]) -> dict[int, bytes]:
    bodies: dict[Graph, bytes] = {}
    by_value: dict[int, bytes] = {}
    for node in graph:
        if node.id in colors:
            by_value[node.id] = slot_digest(f"{node.shape} {colors[node.id].hex()}")
            continue
        operands = [by_value[key] for key in node.operands]
        for region in node.regions:
            if region not in bodies:
                bodies[region] = region_digest(region, digests(region))
        inner = [bodies[region] for region in node.regions]
        by_value[node.id] = digest_of(node, sorted(operands) if node.opcode in COMMUTATIVE else operands, inner)
    return by_value
