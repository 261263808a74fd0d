"""Checks a split against its definition: what must hold for regions to prove whole programs."""

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
    """Reasons why a split would not prove the programs equal even if every region held; none for a valid split.

    Nothing here asks how the regions were found. That every region of a valid split holds implies that the programs
    have equal results, by induction in an order of the regions in which each stands behind those that it reads:

    1. Cut points that are parameters are equal by definition: both programs are given the same array.
    2. A region reads parameters, constants and cut points that earlier regions compute, on both sides the same ones;
       these are equal by the hypothesis of the induction. If it computes equal values from equal inputs, the cut point
       that it computes is therefore equal in both programs.
    3. Every result is a parameter or an output of a region, and so is equal.
    """
    broken = [*_of_cut_points(regions, alignment), *_of_order(regions)]
    for number, region in enumerate(regions.regions):
        broken += [f"region {number}: {fault}" for fault in _of_region(region, regions)]
    return [*broken, *_of_results(regions, alignment), *_of_losses(regions, alignment)]


def _of_cut_points(regions: Regions, alignment: Alignment) -> Iterator[str]:
    slots = {(match.left, match.right) for match in alignment.matches if match.matcher == SLOT}
    counts = Counter(region.cut_point for region in regions.regions)
    for number, cut in enumerate(regions.cut_points):
        if not all(cut.nodes):
            yield f"cut point {number} is a value of one program alone"
        shapes = {graph.nodes[key].shape for graph, keys in zip(regions.graphs, cut.nodes, strict=True) for key in keys}
        if len(shapes) > 1:
            yield f"cut point {number} has several shapes: {', '.join(sorted(map(str, shapes)))}"
        if cut.is_parameter and (len(cut.nodes.left), len(cut.nodes.right)) != (1, 1):
            yield f"cut point {number} is several parameters"
        elif cut.is_parameter and (cut.nodes.left[0], cut.nodes.right[0]) not in slots:
            yield f"cut point {number} is two parameters that are given different arrays"
        if counts[number] != (not cut.is_parameter):
            yield f"cut point {number} is computed by {counts[number]} regions"
    for side, name in enumerate(_SIDES):
        twice = Counter(key for cut in regions.cut_points for key in cut.nodes[side])
        yield from (f"{name} value {key} is in several cut points" for key, times in twice.items() if times > 1)


def _of_order(regions: Regions) -> Iterator[str]:
    """Faults in the order of regions of both programs together: neither program's own order need suit both."""
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
        inputs = {key for position in region.inputs for key in regions.cut_points[position].nodes[side]}
        own = inputs | set(piece.nodes)
        for key in piece.nodes:
            yield from (f"{name} value {key} reads {one}, which is outside of it" for one in graph.nodes[key].operands
                        if one not in own)  # fmt: skip
        yield from (f"{name} output {key} is not computed" for key in piece.outputs if key not in own)
        alone = {key for key in piece.nodes if graph.nodes[key].opcode == "parameter"}
        if alone != set(piece.alone):
            yield f"its {name} piece takes parameters that it does not tell of"


def _of_results(regions: Regions, alignment: Alignment) -> Iterator[str]:
    outputs = {
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
        elif (result.left, result.right) not in outputs and ((result.left,), (result.right,)) not in same:
            yield f"result {result.name} is no output of a region"


def _of_losses(regions: Regions, alignment: Alignment) -> Iterator[str]:
    """Faults by values that results need and no region has."""
    for side, name in enumerate(_SIDES):
        graph = regions.graphs[side]
        results = [result for result in alignment.results if result.name not in regions.uncovered]
        ends = [(result.left, result.right)[side] for result in results]
        present = {key for region in regions.regions for key in region.pieces[side].nodes}
        present |= {key for cut in regions.cut_points if cut.is_parameter for key in cut.nodes[side]}
        missing = find_needed(graph.nodes, [key for key in ends if key is not None]) - present
        yield from (f"{name} value {key} is in no region" for key in sorted(missing))
