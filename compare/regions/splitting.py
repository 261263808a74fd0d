"""Splits two aligned programs into regions: from every cut point back to the cut points that it is computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from compare.hlo.align import Alignment
from compare.hlo.graph import Graph
from compare.hlo.pair import Pair
from compare.regions.cutting import find_cut_points
from compare.regions.parts import CutPoint, Piece, Region, Regions

_MOST_DETERMINING = 16
"""Operations through several cut points. Without a limit all values would count, since all depend on the inputs."""


def split(alignment: Alignment) -> Regions:
    """The regions between the values that an alignment has matched.

    A supposed cut point is given up where it stands in a cycle: one program computes `a` from `b`, and the other `b`
    from `a`. Each could then be proved from the other, and neither would be.

    Args:
      alignment: of two programs at one level; what it matched suggests cut points and proves nothing.
    """
    graphs = Pair(alignment.left.graph, alignment.right.graph)
    suggestions = find_cut_points(alignment)
    cuts, order = list(suggestions), []
    while True:
        pieces = _pieces(graphs, cuts)
        try:
            order = list(
                TopologicalSorter({position: piece.reads for position, piece in pieces.items()}).static_order()
            )
            break
        except CycleError as error:
            cuts = _without_one_of(cuts, error.args[1][1:])
    regions = [_region(position, cuts, pieces) for position in order if not cuts[position].is_parameter]
    whole = _with_results(alignment, graphs, cuts, regions)
    lone_results = tuple(result.name for result in alignment.results if result.left is None or result.right is None)
    drop_count = _members(suggestions) - _members(cuts)
    return _keep_needed(Regions(graphs, tuple(cuts), tuple(whole), lone_results, drop_count))


def without_determined(region: Region, regions: Regions) -> Region:
    """The region without inputs that its other inputs determine: it computes these itself.

    Of `x`, its mean and `x - mean`, each rounded or swept by itself, one contradicts the others.
    """
    computing = {one.cut_point: one for one in regions.regions if one.cut_point is not None}
    inputs = set(region.inputs)
    inner = set[int]()
    for position in region.inputs:
        chain = _compute_from(position, inputs - {position}, computing)
        if chain:
            inner |= chain
            inputs.remove(position)
    return _without(region, regions, inner) if inner else region


def _compute_from(position: int, inputs: Collection[int], computing: Mapping[int, Region]) -> set[int]:
    """The cut points through which one is computed from others; none where these do not determine it in a few steps.

    A normalizer is the sum of exponentials, broadcast: two regions, of which the second reads the first.
    """
    chain, waiting, operations = set[int](), [position], 0
    while waiting:
        key = waiting.pop()
        if key in inputs or key in chain:
            continue
        region = computing.get(key)
        operations += len(region.pieces.left.nodes) if region else 0
        if region is None or (chain and operations > _MOST_DETERMINING):
            return set()
        chain.add(key)
        waiting.extend(region.inputs)
    return chain


def without_cut_point(regions: Regions, position: int) -> Regions:
    """The split without one supposed cut point: every region that read it computes it by itself.

    Use it where the region that computes the cut point does not hold: the two programs may be equal all the same.

    Args:
      position: the position of a cut point that is no parameter.
    """
    remaining: list[Region] = []
    for region in regions.regions:
        if region.cut_point != position:
            remaining.append(_without(region, regions, {position}) if position in region.inputs else region)
        elif region.results:
            remaining.append(replace(region, cut_point=None))
    return _keep_needed(replace(regions, regions=tuple(remaining)))


def _without(region: Region, regions: Regions, given_up: Collection[int]) -> Region:
    """The region, which now computes some of its inputs."""
    cut_of = _cut_of(regions.cut_points).map(
        lambda cuts: {key: position for key, position in cuts.items() if position not in given_up}
    )
    outputs = Pair(region.pieces.left.outputs, region.pieces.right.outputs)
    parts = _compute_parts(regions.graphs, outputs, cut_of)
    return replace(region, inputs=tuple(sorted(parts.reads)), pieces=parts.pieces)


@dataclass(frozen=True)
class _Computed:
    """The pieces that compute some values, and the cut points that they read."""

    pieces: Pair[Piece]
    reads: frozenset[int]


def _pieces(graphs: Pair[Graph], cuts: Sequence[CutPoint]) -> dict[int, _Computed]:
    """By cut point, the pieces that compute it; empty ones for a parameter."""
    cut_of = _cut_of(cuts)
    nothing = _Computed(Pair(Piece((), ()), Piece((), ())), frozenset())
    return {
        position: nothing if cut.is_parameter else _compute_parts(graphs, cut.nodes, cut_of)
        for position, cut in enumerate(cuts)
    }


def _cut_of(cuts: Sequence[CutPoint]) -> Pair[dict[int, int]]:
    """For either side, the cut point of each id."""
    return Pair(
        {key: position for position, cut in enumerate(cuts) for key in cut.nodes.left},
        {key: position for position, cut in enumerate(cuts) for key in cut.nodes.right},
    )


def _compute_parts(graphs: Pair[Graph], outputs: Pair[tuple[int, ...]], cut_of: Pair[Mapping[int, int]]) -> _Computed:
    left, read_left = _piece(graphs.left, outputs.left, cut_of.left)
    right, read_right = _piece(graphs.right, outputs.right, cut_of.right)
    return _Computed(Pair(left, right), frozenset(read_left | read_right))


def _piece(graph: Graph, outputs: tuple[int, ...], cut_of: Mapping[int, int]) -> tuple[Piece, set[int]]:
    """The piece that computes values of one graph from its cut points; an output that is a parameter is only read."""
    parameters = set(graph.parameters)
    nodes, reads = set[int](), set[int]()
    waiting = [key for key in outputs if not (key in parameters and key in cut_of)]
    reads.update(cut_of[key] for key in outputs if key not in waiting)
    while waiting:
        key = waiting.pop()
        if key in nodes:
            continue
        nodes.add(key)
        for operand in graph.nodes[key].operands:
            if operand in cut_of:
                reads.add(cut_of[operand])
            else:
                waiting.append(operand)
    order = tuple(sorted(nodes, key=graph.positions.__getitem__))
    return Piece(outputs, order, tuple(key for key in order if key in parameters)), reads


def _without_one_of(cuts: list[CutPoint], cycle: Sequence[int]) -> list[CutPoint]:
    """The cut points without one of a cycle: the one farthest from its place in the other program's order."""
    if len(cycle) == 1:
        (position,) = cycle
        # Of several values in one program, one is made from another: one is enough to cut at.
        first = replace(cuts[position], nodes=cuts[position].nodes.map(lambda keys: keys[:1]))
        return [*cuts[:position], first, *cuts[position + 1 :]]
    ranks = [
        {position: rank for rank, position in enumerate(sorted(cycle, key=lambda position: cuts[position].nodes[side]))}
        for side in (0, 1)
    ]
    worst = max(
        cycle,
        key=lambda position: (cuts[position].is_by_value, abs(ranks[0][position] - ranks[1][position]), -position),
    )
    return [*cuts[:worst], *cuts[worst + 1 :]]


def _members(cuts: Iterable[CutPoint]) -> int:
    return sum(len(cut.nodes.left) + len(cut.nodes.right) for cut in cuts)


def _region(position: int, cuts: Sequence[CutPoint], pieces: Mapping[int, _Computed]) -> Region:
    return Region(tuple(sorted(pieces[position].reads)), pieces[position].pieces, position)


def _with_results(
    alignment: Alignment, graphs: Pair[Graph], cuts: Sequence[CutPoint], regions: Sequence[Region]
) -> list[Region]:
    """The regions with the names of the results that they compute, and one for each result that is no cut point."""
    cut_of = _cut_of(cuts)
    names_by_cut: dict[int, list[str]] = {}
    more: list[Region] = []
    for result in alignment.results:
        if result.left is None or result.right is None:
            continue
        cut = cut_of.left.get(result.left)
        if cut is not None and cut == cut_of.right.get(result.right):
            names_by_cut.setdefault(cut, []).append(result.name)
        else:
            parts = _compute_parts(graphs, Pair((result.left,), (result.right,)), cut_of)
            more.append(Region(tuple(sorted(parts.reads)), parts.pieces, results=(result.name,)))
    return [*(_with_names(region, names_by_cut) for region in regions), *more]


def _with_names(region: Region, names: Mapping[int, list[str]]) -> Region:
    return region if region.cut_point is None else replace(region, results=tuple(names.get(region.cut_point, ())))


def _keep_needed(regions: Regions) -> Regions:
    """The split without regions that no result depends on, and without their cut points."""
    computing = {region.cut_point: region for region in regions.regions if region.cut_point is not None}
    waiting = [region for region in regions.regions if region.results]
    live = set(waiting)
    read = set[int]()
    while waiting:
        for position in waiting.pop().inputs:
            read.add(position)
            if position in computing and computing[position] not in live:
                live.add(computing[position])
                waiting.append(computing[position])
    read |= {region.cut_point for region in live if region.cut_point is not None}
    # A result may be a parameter.
    alive = [position for position, cut in enumerate(regions.cut_points) if position in read or cut.is_parameter]
    places = {position: place for place, position in enumerate(alive)}
    return replace(
        regions,
        cut_points=tuple(regions.cut_points[position] for position in alive),
        regions=tuple(_renumber(region, places) for region in regions.regions if region in live),
    )


def _renumber(region: Region, places: Mapping[int, int]) -> Region:
    cut = None if region.cut_point is None else places[region.cut_point]
    return replace(region, inputs=tuple(places[position] for position in region.inputs), cut_point=cut)
