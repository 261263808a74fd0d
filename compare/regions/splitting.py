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
"""Operations through several cut points; farther on a value is one of its own, since all are computed of the inputs."""


def split(alignment: Alignment) -> Regions:
    """The regions between the values that an alignment has matched.

    A supposed cut point is given up where it stands in a cycle: one program computes `a` from `b`, and the other `b`
    from `a`. Each could then be proved from the other, and neither would be.

    Args:
      alignment: of two programs at one level; what it matched suggests cut points and proves nothing.
    """
    graphs = Pair(alignment.left.graph, alignment.right.graph)
    suggested = find_cut_points(alignment)
    cuts, order = list(suggested), []
    while True:
        pieces = _pieces(graphs, cuts)
        try:
            order = list(TopologicalSorter({at: piece.reads for at, piece in pieces.items()}).static_order())
            break
        except CycleError as error:
            cuts = _without_one_of(cuts, error.args[1][1:])
    regions = [_region(at, cuts, pieces) for at in order if not cuts[at].is_parameter]
    whole = _with_results(alignment, graphs, cuts, regions)
    uncovered = tuple(result.name for result in alignment.results if result.left is None or result.right is None)
    dropped = _members(suggested) - _members(cuts)
    return _needed(Regions(graphs, tuple(cuts), tuple(whole), uncovered, dropped))


def without_determined(region: Region, regions: Regions) -> Region:
    """The region without inputs that its other inputs determine: it computes these itself.

    Of `x`, its mean and `x - mean`, given as they are rounded or swept one by one, one contradicts the others.
    """
    computing = {one.cut_point: one for one in regions.regions if one.cut_point is not None}
    inputs = set(region.inputs)
    computed = set[int]()
    for at in region.inputs:
        chain = _compute_from(at, inputs - {at}, computing)
        if chain:
            computed |= chain
            inputs.remove(at)
    return _without(region, regions, computed) if computed else region


def _compute_from(at: int, inputs: Collection[int], computing: Mapping[int, Region]) -> set[int]:
    """The cut points through which one is computed from others; none where these do not determine it in a few steps.

    A normalizer is the sum of exponentials, broadcast: two regions, of which the second reads the first.
    """
    chain, waiting, operations = set[int](), [at], 0
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


def without_cut_point(regions: Regions, at: int) -> Regions:
    """The split without one supposed cut point: every region that read it computes it by itself.

    What to do where the region that computes it does not hold: the two programs may be equal all the same.

    Args:
      regions: a valid split.
      at: the position of a cut point that is no parameter.
    """
    kept: list[Region] = []
    for region in regions.regions:
        if region.cut_point != at:
            kept.append(_without(region, regions, {at}) if at in region.inputs else region)
        elif region.results:
            kept.append(replace(region, cut_point=None))
    return _needed(replace(regions, regions=tuple(kept)))


def _without(region: Region, regions: Regions, given_up: Collection[int]) -> Region:
    """The region, some of whose inputs it computes."""
    cut_of = _cut_of(regions.cut_points).map(lambda cuts: {key: at for key, at in cuts.items() if at not in given_up})
    outputs = Pair(region.pieces.left.outputs, region.pieces.right.outputs)
    computed = _computed(regions.graphs, outputs, cut_of)
    return replace(region, inputs=tuple(sorted(computed.reads)), pieces=computed.pieces)


@dataclass(frozen=True)
class _Computed:
    """What computes some values, and the cut points that it reads."""

    pieces: Pair[Piece]
    reads: frozenset[int]


def _pieces(graphs: Pair[Graph], cuts: Sequence[CutPoint]) -> dict[int, _Computed]:
    """By cut point, what computes it; nothing of a parameter."""
    cut_of = _cut_of(cuts)
    nothing = _Computed(Pair(Piece((), ()), Piece((), ())), frozenset())
    return {at: nothing if cut.is_parameter else _computed(graphs, cut.nodes, cut_of) for at, cut in enumerate(cuts)}


def _cut_of(cuts: Sequence[CutPoint]) -> Pair[dict[int, int]]:
    """Of either side, by id the cut point."""
    return Pair(
        {key: at for at, cut in enumerate(cuts) for key in cut.nodes.left},
        {key: at for at, cut in enumerate(cuts) for key in cut.nodes.right},
    )


def _computed(graphs: Pair[Graph], outputs: Pair[tuple[int, ...]], cut_of: Pair[Mapping[int, int]]) -> _Computed:
    left, read_left = _piece(graphs.left, outputs.left, cut_of.left)
    right, read_right = _piece(graphs.right, outputs.right, cut_of.right)
    return _Computed(Pair(left, right), frozenset(read_left | read_right))


def _piece(graph: Graph, outputs: tuple[int, ...], cut_of: Mapping[int, int]) -> tuple[Piece, set[int]]:
    """What computes some values of one graph, back to its cut points; an output that is a parameter is only read."""
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
    ordered = tuple(sorted(nodes, key=graph.positions.__getitem__))
    return Piece(outputs, ordered, tuple(key for key in ordered if key in parameters)), reads


def _without_one_of(cuts: list[CutPoint], cycle: Sequence[int]) -> list[CutPoint]:
    """The cut points without the one of a cycle that stands farthest from its place in the other program's order."""
    if len(cycle) == 1:
        (at,) = cycle
        # Of several values in one program, one is made from another: one is enough to cut at.
        first = replace(cuts[at], nodes=cuts[at].nodes.map(lambda keys: keys[:1]))
        return [*cuts[:at], first, *cuts[at + 1 :]]
    ranks = [
        {at: rank for rank, at in enumerate(sorted(cycle, key=lambda at: cuts[at].nodes[side]))} for side in (0, 1)
    ]
    worst = max(cycle, key=lambda at: (cuts[at].is_by_value, abs(ranks[0][at] - ranks[1][at]), -at))
    return [*cuts[:worst], *cuts[worst + 1 :]]


def _members(cuts: Iterable[CutPoint]) -> int:
    return sum(len(cut.nodes.left) + len(cut.nodes.right) for cut in cuts)


def _region(at: int, cuts: Sequence[CutPoint], pieces: Mapping[int, _Computed]) -> Region:
    return Region(tuple(sorted(pieces[at].reads)), pieces[at].pieces, at)


def _with_results(
    alignment: Alignment, graphs: Pair[Graph], cuts: Sequence[CutPoint], regions: Sequence[Region]
) -> list[Region]:
    """The regions with the names of the results that they compute, and one for each result that is no cut point."""
    cut_of = _cut_of(cuts)
    named: dict[int, list[str]] = {}
    more: list[Region] = []
    for result in alignment.results:
        if result.left is None or result.right is None:
            continue
        cut = cut_of.left.get(result.left)
        if cut is not None and cut == cut_of.right.get(result.right):
            named.setdefault(cut, []).append(result.name)
        else:
            computed = _computed(graphs, Pair((result.left,), (result.right,)), cut_of)
            more.append(Region(tuple(sorted(computed.reads)), computed.pieces, results=(result.name,)))
    return [*(_named(region, named) for region in regions), *more]


def _named(region: Region, names: Mapping[int, list[str]]) -> Region:
    return region if region.cut_point is None else replace(region, results=tuple(names.get(region.cut_point, ())))


def _needed(regions: Regions) -> Regions:
    """Without regions that compute no result and that none reads which does, and the cut points of these."""
    computing = {region.cut_point: region for region in regions.regions if region.cut_point is not None}
    waiting = [region for region in regions.regions if region.results]
    kept = set(waiting)
    read = set[int]()
    while waiting:
        for at in waiting.pop().inputs:
            read.add(at)
            if at in computing and computing[at] not in kept:
                kept.add(computing[at])
                waiting.append(computing[at])
    read |= {region.cut_point for region in kept if region.cut_point is not None}
    # A result may be a parameter.
    alive = [at for at, cut in enumerate(regions.cut_points) if at in read or cut.is_parameter]
    places = {at: place for place, at in enumerate(alive)}
    return replace(
        regions,
        cut_points=tuple(regions.cut_points[at] for at in alive),
        regions=tuple(_moved(region, places) for region in regions.regions if region in kept),
    )


def _moved(region: Region, places: Mapping[int, int]) -> Region:
    cut = None if region.cut_point is None else places[region.cut_point]
    return replace(region, inputs=tuple(places[at] for at in region.inputs), cut_point=cut)
