"""Open regions of two programs as one program a side, and the arrays that calls of both programs pass to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo import bindings, executing, promote, values
from compare.hlo.arrays.room import budget
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import Graph
from compare.hlo.pair import Pair
from compare.hlo.write_module import written
from compare.prove.placed_training import QUICKLY
from compare.prove.running import MOST_BYTES
from compare.regions.open_programs import OpenPrograms, merge_regions
from compare.regions.parts import Region, Regions
from compare.regions.sampling import widen

MOST_OPERATIONS = 1 << 14
"""Of the open regions together: where no values were matched, regions repeat one another."""
_WIDEST = 16

Arguments = Pair[Sequence[np.ndarray]]
"""What fills the parameters of both programs in one call."""


@dataclass(frozen=True)
class OpenRegions:
    """The open regions of one pass, and what each call of the programs passes to them.

    Attributes:
      regions: the split.
      programs: both pieces of the open regions.
      cut_values: has what TensorFlow's program computes at cut points.
    """

    regions: Regions
    programs: OpenPrograms
    cut_values: CutValues

    @classmethod
    def of(cls, regions: Regions, opened: Sequence[Region], cut_values: CutValues) -> OpenRegions:
        """These regions as one program a side.

        Args:
          regions: the split.
          opened: those that are judged.
          cut_values: has what TensorFlow's program computes at cut points.

        Raises:
          UnreadableProgram: they are too large together, or their arrays are.
        """
        made = cls(regions, merge_regions(opened, regions), cut_values)
        if max(map(len, made.programs.graphs)) > MOST_OPERATIONS:
            raise UnreadableProgram(f"expected at most {MOST_OPERATIONS:,} operations in open regions")
        if made._bytes > (room := budget()):
            raise UnreadableProgram(f"expected {made._bytes:,} bytes for the arrays of open regions, found {room:,}")
        return made

    @cached_property
    def artifacts(self) -> Pair[bytes]:
        """Both programs of the regions."""
        return self.programs.graphs.map(lambda graph: bindings.bytecode_of_hlo(written(graph)))

    @cached_property
    def exact(self) -> bytes:
        """TensorFlow's pieces in float64."""
        return promote.promote(self.artifacts.left)

    @cached_property
    def compiled_exactly(self) -> executing.Executable:
        """The same, compiled: to refute cut points, and to judge by."""
        return executing.compile_bytecode(self.exact, QUICKLY)

    @property
    def at_once(self) -> int:
        """How many calls one request may hold."""
        return max(1, MOST_BYTES // max(1, self._bytes))

    @cached_property
    def _bytes(self) -> int:
        """What the arrays of one call take, on both sides and in float64."""
        nodes = [graph.nodes[key] for graph in self.programs.graphs for key in (*graph.parameters, *graph.results)]
        return _WIDEST * sum(node.shape.elements for node in nodes)

    @cached_property
    def keys(self) -> Sequence[int]:
        """Ids in TensorFlow's graph of what the regions read, in the order of their shared parameters."""
        return [self.regions.cut_points[at].nodes.left[0] for at in self.programs.read]

    def collect_inputs(self, calls: Sequence[Arguments]) -> list[RegionInputs]:
        """What the regions of both sides take in each call.

        Args:
          calls: arguments of both programs.
        """
        positions = [
            [graph.parameters.index(key) for key in alone]
            for graph, alone in zip(self.regions.graphs, self.programs.alone, strict=True)
        ]
        return [
            RegionInputs(shared, Pair(*([side[at] for at in own] for side, own in zip(call, positions, strict=True))))
            for shared, call in zip(self.cut_values.each(self.keys, [left for left, _ in calls]), calls, strict=True)
        ]

    def run_exactly(self, calls: Sequence[Arguments]) -> Iterator[Pair[Sequence[np.ndarray]]]:
        """What both programs of the regions give in float64, in each call.

        Args:
          calls: arguments of both programs.
        """
        port = executing.compile_bytecode(promote.promote(self.artifacts.right), QUICKLY)
        exact = Pair(self.compiled_exactly, port)
        for start in range(0, len(calls), self.at_once):
            taken = self.collect_inputs(calls[start : start + self.at_once])
            runs = [exact[side].each([one.widened(side) for one in taken]) for side in (0, 1)]
            yield from map(Pair, *runs)


@dataclass(frozen=True)
class RegionInputs:
    """What one call passes to the regions: values at cut points, and parameters that one program alone has."""

    shared: Sequence[np.ndarray]
    own: Pair[Sequence[np.ndarray]]

    def of(self, side: int) -> list[np.ndarray]:
        """The arguments of a side's program."""
        return [*self.shared, *self.own[side]]

    def widened(self, side: int) -> list[np.ndarray]:
        """The same in float64."""
        return [widen(array) for array in self.of(side)]


class CutValues:
    """What TensorFlow's program has at cut points; compiled once for all that are asked for first.

    Args:
      graph: of TensorFlow's program.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._positions = {key: at for at, key in enumerate(graph.parameters)}
        self._prepared: dict[int, values.PreparedGraph] = {}

    def is_parameter(self, key: int) -> bool:
        """Whether a value has the same bits in both programs; what is computed was rounded."""
        return key in self._positions

    def each(self, keys: Sequence[int], calls: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        """The values of each call.

        Args:
          keys: ids in the graph.
          calls: arguments of TensorFlow's program.
        """
        computed = [key for key in keys if key not in self._positions]
        missing = [key for key in computed if key not in self._prepared]
        if missing:
            self._prepared |= dict.fromkeys(missing, values.prepare(self._graph, missing))
        # By identity: several values have one program.
        programs = {id(self._prepared[key]): self._prepared[key] for key in computed}
        runs = [program.each(calls) for program in programs.values()]
        known = [{key: array for run in runs for key, array in run[call].items()} for call in range(len(calls))]
        return [
            [of[key] if key in of else call[self._positions[key]] for key in keys]
            for call, of in zip(calls, known, strict=True)
        ]
