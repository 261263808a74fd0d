"""Checks a split by the definition of one, whoever made it: what must hold for regions to prove whole programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from compare.hlo.align import Alignment
from compare.hlo.align._alignment import SLOT
from compare.hlo.graph import find_needed
from compare.hlo.pair import Pair
from compare.regions.parts import Region, Regions

_SIDES = Pair("left", "right")


def find_faults(regions: Regions, alignment: Alignment) -> list[str]:
    """What keeps a split from proving the programs equal once every region holds; empty of a valid one.

    Nothing here asks how the regions were found. That every region of a valid split holds implies that the programs
    have equal results, by induction in an order of the regions in which each stands behind those that it reads:

    1. Cut points that are parameters are equal by definition: both programs are given the same array.
    2. A region reads parameters, constants and cut points that earlier regions compute, on both sides the same ones;
       these are equal by the hypothesis of the induction. If it computes equal values from equal inputs, the cut point
       that it computes is therefore equal in both programs.
    3. Every result is a parameter or an output of a region, and so is equal.

    Args:
      regions: the split.
      alignment: it is of; only its graphs, its results and which parameters are one are looked at.
    """
    broken = [*_of_cut_points(regions, alignment), *_of_order(regions)]
    for at, region in enumerate(regions.regions):
        broken += [f"region {at}: {fault}" for fault in _of_region(region, regions)]
    return [*broken, *_of_results(regions, alignment), *_of_losses(regions, alignment)]


def _of_cut_points(regions: Regions, alignment: Alignment) -> Iterator[str]:
    slots = {(match.left, match.right) for match in alignment.matches if match.matcher == SLOT}
    computed = Counter(region.cut_point for region in regions.regions)
    for at, cut in enumerate(regions.cut_points):
        if not all(cut.nodes):
            yield f"cut point {at} is a value of one program alone"
        shapes = {graph.nodes[key].shape for graph, keys in zip(regions.graphs, cut.nodes, strict=True) for key in keys}
        if len(shapes) > 1:
            yield f"cut point {at} has several shapes: {', '.join(sorted(map(str, shapes)))}"
        if cut.is_parameter and (len(cut.nodes.left), len(cut.nodes.right)) != (1, 1):
            yield f"cut point {at} is several parameters"
        elif cut.is_parameter and (cut.nodes.left[0], cut.nodes.right[0]) not in slots:
            yield f"cut point {at} is two parameters that are given different arrays"
        if computed[at] != (not cut.is_parameter):
            yield f"cut point {at} is computed by {computed[at]} regions"
    for side, name in enumerate(_SIDES):
        twice = Counter(key for cut in regions.cut_points for key in cut.nodes[side])
        yield from (f"{name} value {key} is in several cut points" for key, times in twice.items() if times > 1)


def _of_order(regions: Regions) -> Iterator[str]:
    """Regions of both programs at once: either program's own order is none that suits both."""
    reads = {region.cut_point: region.inputs for region in regions.regions if region.cut_point is not None}
    try:
        TopologicalSorter(reads).prepare()
    except CycleError as error:
        yield f"cut points {', '.join(map(str, error.args[1]))} are computed from one another"


def _of_region(region: Region, regions: Regions) -> Iterator[str]:
    if region.cut_point is None and not region.results:
        yield "it computes neither a cut point nor a result"
    if region.cut_point is not None:
        outputs = Pair(region.pieces.left.outputs, region.pieces.right.outputs)
        if outputs != regions.cut_points[region.cut_point].nodes:
            yield "its outputs are not all values of its cut point"
    for side, name in enumerate(_SIDES):
        graph, piece = regions.graphs[side], region.pieces[side]
        inputs = {key for at in region.inputs for key in regions.cut_points[at].nodes[side]}
        known = inputs | set(piece.nodes)
        for key in piece.nodes:
            yield from (f"{name} value {key} reads {one}, which is outside of it" for one in graph.nodes[key].operands
                        if one not in known)  # fmt: skip
        yield from (f"{name} output {key} is not computed" for key in piece.outputs if key not in known)
        alone = {key for key in piece.nodes if graph.nodes[key].opcode == "parameter"}
        if alone != set(piece.alone):
            yield f"its {name} piece takes parameters that it does not tell of"


def _of_results(regions: Regions, alignment: Alignment) -> Iterator[str]:
    judged = {
        (left, right)
        for region in regions.regions
        for left in region.pieces.left.outputs
        for right in region.pieces.right.outputs
    }
    same = {(cut.nodes.left, cut.nodes.right) for cut in regions.cut_points if cut.is_parameter}
    for result in alignment.results:
        if result.left is None or result.right is None:
            if result.name not in regions.uncovered:
                yield f"result {result.name} is one program's alone, and nothing says so"
        elif (result.left, result.right) not in judged and ((result.left,), (result.right,)) not in same:
            yield f"result {result.name} is no output of a region"


def _of_losses(regions: Regions, alignment: Alignment) -> Iterator[str]:
    """Values that results need and no region has."""
    for side, name in enumerate(_SIDES):
        graph = regions.graphs[side]
        shared = [result for result in alignment.results if result.name not in regions.uncovered]
        ends = [(result.left, result.right)[side] for result in shared]
        covered = {key for region in regions.regions for key in region.pieces[side].nodes}
        covered |= {key for cut in regions.cut_points if cut.is_parameter for key in cut.nodes[side]}
        lost = find_needed(graph.nodes, [key for key in ends if key is not None]) - covered
        yield from (f"{name} value {key} is in no region" for key in sorted(lost))
