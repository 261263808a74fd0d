"""Counts the regions of two programs for pages and scripts, and lists open ones with the lines of both programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.hlo.align import Alignment
from compare.hlo.graph import Graph
from compare.hlo.levels import ALGEBRA, STRUCTURE
from compare.hlo.pair import Pair
from compare.regions.parts import Piece, Regions
from compare.regions.proving import OPEN, RegionProof, prove
from compare.regions.splitting import split

LEVELS = (STRUCTURE, ALGEBRA)
"""The levels of graphs that are split: the first that exists."""
_MOST_LINES = 4
_UNNAMED: Pair[Sequence[str]] = Pair((), ())


@dataclass(frozen=True)
class OpenRegion:
    """Identical regions that no rule proves.

    Attributes:
      operations: how many of each program, constants aside; of the first region.
      sources: "file:line" of either program, or what the frontend calls the operation where no line is known; that of
        the output first.
      shape: of the output.
      times: how many regions are identical to it, itself among them.
      results: of the programs that they compute.
      takes: how many cut points it reads.
      alone: names of parameters of one program alone that it reads.
      reason: why it cannot be sampled; "" where it can.
    """

    operations: tuple[int, int]
    sources: tuple[tuple[str, ...], tuple[str, ...]]
    shape: str
    times: int
    results: tuple[str, ...]
    takes: int
    alone: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class RegionCounts:
    """The regions of two programs in numbers.

    Attributes:
      level: of the graphs that were split.
      total: regions, one for each cut point that is no parameter.
      structural, algebraic: how many are proved at these levels.
      open: how many are not proved. `distinct` counts those that differ, and `largest` is the number of TensorFlow's
        operations in the largest.
      dropped: how many supposed cut points were given up because of a cycle.
      uncovered: results of one program alone.
      assumes: what rules of the level have assumed of the inputs.
      open_regions: the distinct open regions, the largest first.
    """

    level: str
    total: int
    structural: int
    algebraic: int
    open: int
    distinct: int
    largest: int
    dropped: int
    uncovered: tuple[str, ...]
    assumes: tuple[str, ...]
    open_regions: tuple[OpenRegion, ...]

    @property
    def headline(self) -> str:
        """The counts in one line."""
        proof_count = self.structural + self.algebraic
        text = f"regions: {self.total}, proved {proof_count} ({self.structural} structural, {self.algebraic} algebraic)"
        if not self.open:
            return text
        return (
            f"{text}, open {self.open} of which {self.distinct} are distinct; "
            f"the largest has {self.largest} of TensorFlow's operations"
        )


def count_regions(alignment: Alignment, names: Pair[Sequence[str]] = _UNNAMED) -> RegionCounts:
    """Split two aligned programs, prove what rules can prove, and count.

    Args:
      alignment: of the programs, at one of `LEVELS`.
      names: by program, names of its parameters in order; empty where these are unknown.
    """
    proofs = prove(split(alignment), alignment.level)
    open_regions = sorted((_describe(group, proofs.regions, names) for group in proofs.open.values()),
                    key=lambda one: (-one.operations[0], -one.times))  # fmt: skip
    changes = (change for form in (alignment.left, alignment.right) for change in form.changes)
    return RegionCounts(
        level=alignment.level,
        total=len(proofs.judged),
        structural=proofs.counts.get(STRUCTURE, 0),
        algebraic=proofs.counts.get(ALGEBRA, 0),
        open=proofs.counts.get(OPEN, 0),
        distinct=len(open_regions),
        largest=max((one.operations[0] for one in open_regions), default=0),
        dropped=proofs.regions.dropped,
        uncovered=proofs.regions.uncovered,
        assumes=tuple(sorted({change.assumes for change in changes if change.assumes})),
        open_regions=tuple(open_regions),
    )


def _describe(group: tuple[RegionProof, ...], regions: Regions, names: Pair[Sequence[str]]) -> OpenRegion:
    first = group[0]
    graphs, pieces = regions.graphs, first.region.pieces
    left, right = (_operations(graph, piece) for graph, piece in zip(graphs, pieces, strict=True))
    return OpenRegion(
        operations=(left, right),
        sources=(_sources(graphs.left, pieces.left), _sources(graphs.right, pieces.right)),
        shape=str(graphs.left.nodes[pieces.left.outputs[0]].shape),
        times=len(group),
        results=tuple(name for proof in group for name in proof.region.results),
        takes=len(first.region.inputs),
        alone=tuple(name for side in (0, 1) for name in _alone(graphs[side], pieces[side], names[side])),
        reason=first.reason,
    )


def _operations(graph: Graph, piece: Piece) -> int:
    return sum(graph.nodes[key].opcode not in ("constant", "parameter") for key in piece.nodes)


def _sources(graph: Graph, piece: Piece) -> tuple[str, ...]:
    nodes = [graph.nodes[key] for key in (*piece.outputs, *reversed(piece.nodes))]
    return tuple(dict.fromkeys(node.source or node.op_name for node in nodes if node.source or node.op_name))[
        :_MOST_LINES
    ]


def _alone(graph: Graph, piece: Piece, names: Sequence[str]) -> list[str]:
    name_of = dict(zip(graph.parameters, names, strict=False))
    return [name_of.get(key, graph.nodes[key].name) for key in piece.alone]
