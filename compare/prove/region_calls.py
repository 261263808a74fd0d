"""Open regions of two programs, compiled and run on the values that TensorFlow's program has at their cut points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo import bindings, disturbing, executing, promote, values
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import Graph
from compare.hlo.pair import Pair
from compare.hlo.write_module import written
from compare.inputs.at_size import Prepared
from compare.parity.breaks import Outcome
from compare.parity.measure import is_float
from compare.parity.stability import Rounding
from compare.prove.running import MOST_BYTES, arguments
from compare.prove.subjects import first_inputs, twin_of
from compare.prove.swept_calls import CallResults, judge_calls, measure_rounding
from compare.regions.open_programs import OpenPrograms, count_roundings, merge_regions
from compare.regions.parts import Region, Regions
from compare.regions.sampling import widen
from workloads._framework import GRADIENTS, Program, Twin
from workloads._spec import Arrays

MOST_OPERATIONS = 1 << 14
"""Of the open regions together: where no values were matched, regions repeat one another."""
_WIDEST = 16
QUICKLY: executing.Options = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""Where few calls are made of a program."""


@dataclass(frozen=True)
class OpenRegions:
    """The open regions of one pass, and what each call of the programs passes to them.

    Attributes:
      prepared: the workload, and the arrays that it is judged on.
      programs: TensorFlow's and the port's.
      regions: the split.
      opened: both pieces of the open regions.
      cut_values: has what TensorFlow's program computes at cut points.
    """

    prepared: Prepared
    programs: Pair[Program]
    regions: Regions
    opened: OpenPrograms
    cut_values: CutValues

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        programs: Pair[Program],
        regions: Regions,
        opened: Sequence[Region],
        cut_values: CutValues,
    ) -> OpenRegions:
        """These regions as one program a side.

        Raises:
          UnreadableProgram: they are too large together.
        """
        merged = merge_regions(opened, regions)
        if max(map(len, merged.graphs)) > MOST_OPERATIONS:
            raise UnreadableProgram(f"expected at most {MOST_OPERATIONS:,} operations in open regions")
        return cls(prepared, programs, regions, merged, cut_values)

    @cached_property
    def artifacts(self) -> Pair[bytes]:
        """Both programs of the regions."""
        return self.opened.graphs.map(lambda graph: bindings.bytecode_of_hlo(written(graph)))

    @cached_property
    def exact(self) -> bytes:
        """TensorFlow's pieces in float64."""
        return promote.promote(self.artifacts.left)

    @property
    def at_once(self) -> int:
        """How many calls one request may hold."""
        nodes = [graph.nodes[key] for graph in self.opened.graphs for key in (*graph.parameters, *graph.results)]
        return max(1, MOST_BYTES // max(1, _WIDEST * sum(node.shape.elements for node in nodes)))

    @cached_property
    def keys(self) -> Sequence[int]:
        """Ids in TensorFlow's graph of what the regions read, in the order of their shared parameters."""
        return [self.regions.cut_points[at].nodes.left[0] for at in self.opened.read]

    @cached_property
    def _twin(self) -> Twin:
        return twin_of(self.prepared)

    def arguments(self, call: Arrays) -> Pair[list[np.ndarray]]:
        """What fills the parameters of both programs.

        Args:
          call: inputs of the programs.
        """
        return Pair(*(arguments(program, self._twin, call) for program in self.programs))

    def collect_inputs(self, calls: Sequence[Arrays]) -> list[RegionInputs]:
        """What the regions of both sides take in each call.

        Args:
          calls: inputs of the programs.
        """
        left, right = zip(*map(self.arguments, calls), strict=True)
        positions = [
            [graph.parameters.index(key) for key in alone]
            for graph, alone in zip(self.regions.graphs, self.opened.alone, strict=True)
        ]
        return [
            RegionInputs(shared, Pair(*([side[at] for at in own] for side, own in zip(both, positions, strict=True))))
            for shared, *both in zip(self.cut_values.each(self.keys, left), left, right, strict=True)
        ]

    def run_exactly(self, calls: Sequence[Arrays]) -> Iterator[Pair[Sequence[np.ndarray]]]:
        """What both programs of the regions give in float64, in each call.

        Args:
          calls: inputs of the programs.
        """
        exact = Pair(self.exact, promote.promote(self.artifacts.right)).map(
            lambda artifact: executing.compile_bytecode(artifact, QUICKLY)
        )
        for start in range(0, len(calls), self.at_once):
            taken = self.collect_inputs(calls[start : start + self.at_once])
            runs = [exact[side].each([one.widened(side) for one in taken]) for side in (0, 1)]
            yield from map(Pair, *runs)


class RegionCalls:
    """Open regions in the type that their programs compute in, beside TensorFlow's in float64.

    Args:
      pass_: forward or gradients.
      regions: the open ones.
      dtype: the narrowest type that is computed in.

    Raises:
      UnreadableProgram: XLA cannot run them.
      PromotionError: they have no float64 self.
    """

    def __init__(self, pass_: str, regions: OpenRegions, dtype: str) -> None:
        self._regions = regions
        self._moves = [not regions.cut_values.is_parameter(key) for key in regions.keys]
        self._original, self._port = regions.artifacts.map(executing.compile_bytecode)
        self._exact = executing.compile_bytecode(regions.exact)
        self._rounding = self._measure(pass_, dtype)

    def judge(self, calls: Sequence[Arrays]) -> list[Outcome]:
        """Judge each call: the outcome of its worst region.

        Args:
          calls: inputs of the programs.
        """
        taken = self._regions.collect_inputs(calls)
        judged = judge_calls(
            self._results(taken),
            self._rounding,
            lambda positions, seed: self._sample([taken[at] for at in positions], seed),
        )
        return [outcome for _, outcome in judged]

    @property
    def vanishing(self) -> float:
        """What rounding leaves of a value that should vanish, relative to those that it is computed of."""
        return self._rounding.at_most * self._rounding.unit

    def _measure(self, pass_: str, dtype: str) -> Rounding:
        opened, graph = self._regions.opened, self._regions.regions.graphs.left
        times = max(count_roundings(region, graph) for region in opened.regions)
        # As of a whole program: what is lost in the rounding of an ordinary gradient is lost anyway.
        results = self._ordinary_gradients() if pass_ == GRADIENTS else {}
        return measure_rounding(dtype, times, results, digits=1.0)

    def _ordinary_gradients(self) -> Arrays:
        prepared = self._regions.prepared
        base = first_inputs(twin_of(prepared), prepared.inputs)
        ordinary = self._results(self._regions.collect_inputs([base]))[0].exact
        gradients = {f"{at}" for at, region in enumerate(self._regions.opened.regions) if region.results}
        return {leaf: array for leaf, array in ordinary.items() if leaf.partition(".")[0] in gradients}

    def _results(self, taken: Sequence[RegionInputs]) -> list[CallResults]:
        runs = zip(
            self._original.each([one.of(0) for one in taken]),
            self._port.each([one.of(1) for one in taken]),
            self._exact.each([one.widened(0) for one in taken]),
            strict=True,
        )
        return [CallResults(*_by_leaf(self._regions.opened, *run)) for run in runs]

    @cached_property
    def _disturbed(self) -> executing.Executable:
        """Compiled once, where a region asks for it."""
        return executing.compile_bytecode(disturbing.disturbed(self._regions.exact, self._rounding.unit))

    def _sample(self, taken: Sequence[RegionInputs], seed: int) -> list[Arrays]:
        """The exact values with every value moved by a rounding, those that the regions are given too."""
        runs = self._disturbed.each([self._moved(one, seed) for one in taken])
        return [_by_leaf(self._regions.opened, run, None, run)[2] for run in runs]

    def _moved(self, taken: RegionInputs, seed: int) -> list[np.ndarray]:
        generator, unit = np.random.default_rng(seed), self._rounding.unit

        def move(array: np.ndarray) -> np.ndarray:
            return widen(array) * (1 + unit * generator.uniform(-1, 1, array.shape))

        shared = zip(taken.shared, self._moves, strict=True)
        return [
            *(move(array) if moves and is_float(array) else widen(array) for array, moves in shared),
            *map(widen, taken.own.left),
        ]


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


def _by_leaf(
    opened: OpenPrograms,
    original: Sequence[np.ndarray],
    port: Sequence[np.ndarray] | None,
    exact: Sequence[np.ndarray],
) -> tuple[Arrays, Arrays, Arrays]:
    """The port's, TensorFlow's and the exact values of every region: each of its outputs beside TensorFlow's first."""
    of_original, of_port = opened.results(0), opened.results(1)
    first = {at: place for place, (at, output) in enumerate(of_original) if output == 0}
    beside = {f"{at}.{output}": (at, port[place] if port else None) for place, (at, output) in enumerate(of_port)}
    # TensorFlow may compute a cut point several times: each of these values is compared with the first.
    beside |= {f"{at}.tf{output}": (at, original[place]) for place, (at, output) in enumerate(of_original) if output}
    return (
        {leaf: array for leaf, (_, array) in beside.items() if array is not None},
        {leaf: original[first[at]] for leaf, (at, _) in beside.items()},
        {leaf: exact[first[at]] for leaf, (at, _) in beside.items()},
    )
