"""Regions that are identical but for where they stand: sixteen blocks of a ResNet are three kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compare.hlo.graph import Graph
from compare.regions.parts import CutPoint, Region, Regions
from compare.regions.pieces import identify, make_programs


@dataclass(frozen=True)
class RegionKind:
    """Identical regions: their pieces compute the same two functions, each from values of its own.

    Attributes:
      regions: in the order of the split; their inputs are in the order of the functions' parameters.
    """

    regions: tuple[Region, ...]

    @property
    def has_cut_points(self) -> bool:
        """Whether each region gives a cut point: some give results alone."""
        return all(region.cut_point is not None for region in self.regions)

    def take_turn(self, turn: int, turns: int) -> Region:
        """The region whose values are used in a turn: in as many turns as there are regions, or more, each is used.

        Args:
          turn: its number, from 0.
        """
        return self.regions[turn * (len(self.regions) - 1) // max(1, turns - 1)]


def group_identical(members: Sequence[Region], regions: Regions) -> list[RegionKind]:
    """These regions by kind, in the order of the first of each.

    A region with parameters that one program alone takes is a kind by itself: no other region has these.
    """
    kinds: dict[object, list[Region]] = {}
    for position, region in enumerate(members):
        programs = make_programs(region, regions)
        kind = position if any(programs.alone) else (identify(programs), *programs.graphs.map(_list_hints))
        kinds.setdefault(kind, []).append(replace(region, inputs=programs.inputs))
    return [RegionKind(tuple(identical)) for identical in kinds.values()]


def _list_hints(graph: Graph) -> tuple[str, ...]:
    """The hints that operations carry beside what they compute, such as the precision of a product."""
    return tuple(sorted(repr(node.hints) for node in graph if node.hints))


def separate(kinds: Sequence[RegionKind], regions: Regions) -> tuple[Regions, list[Region]]:
    """The first region of each kind, all of whose inputs are its own: values of any of its kind may fill them.

    Returns:
      The split with a cut point for each of these inputs, in their order, and the regions that read these.
    """
    cut_points: list[CutPoint] = []
    firsts: list[Region] = []
    for kind in kinds:
        first = kind.regions[0]
        inputs = range(len(cut_points), len(cut_points) + len(first.inputs))
        cut_points += (regions.cut_points[cut] for cut in first.inputs)
        firsts.append(replace(first, inputs=tuple(inputs), cut_point=None))
    return replace(regions, cut_points=tuple(cut_points), regions=tuple(firsts)), firsts
