"""The parts of a pair of programs: cut points, and the regions between them."""

from __future__ import annotations

from dataclasses import dataclass

from compare.hlo.graph import Graph
from compare.hlo.pair import Pair


@dataclass(frozen=True)
class CutPoint:
    """A value that both programs have, or are supposed to have: a hypothesis until its region has been judged.

    Attributes:
      nodes: of either graph, the ids that hold it; several where a program computes it more than once.
      is_parameter: whether the programs take it, which makes it equal by definition.
      is_by_value: whether equal arrays on the drawn cases suggest it, or its place alone, and no equal operation.
    """

    nodes: Pair[tuple[int, ...]]
    is_parameter: bool = False
    is_by_value: bool = False


@dataclass(frozen=True)
class Piece:
    """One program's part of a region.

    Attributes:
      outputs: ids of what it computes; of a cut point, all that hold it.
      nodes: ids in the order of the graph; without cut points that it reads, with the constants.
      alone: ids among `nodes` of parameters that the other program does not take.
    """

    outputs: tuple[int, ...]
    nodes: tuple[int, ...]
    alone: tuple[int, ...] = ()


@dataclass(frozen=True)
class Region:
    """A piece of either program that reads the same cut points. It claims that all outputs of both are one value.

    Attributes:
      inputs: cut points that either piece reads, by position in `Regions.cut_points`.
      pieces: of either program.
      cut_point: the one that it computes; None for a result that is no cut point.
      results: names of the programs' results that it computes.
    """

    inputs: tuple[int, ...]
    pieces: Pair[Piece]
    cut_point: int | None = None
    results: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Regions:
    """Two programs, split.

    Attributes:
      graphs: that cut points and regions point into.
      cut_points: those that regions read or compute.
      regions: in an order in which each stands behind those whose cut points it reads.
      uncovered: names of results that one of the programs alone has.
      dropped: how many supposed cut points were given up because each program computes them in another order.
    """

    graphs: Pair[Graph]
    cut_points: tuple[CutPoint, ...]
    regions: tuple[Region, ...]
    uncovered: tuple[str, ...] = ()
    dropped: int = 0
