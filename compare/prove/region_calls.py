"""Open regions of two programs, compiled and run on the values that TensorFlow's program has at their cut points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo import bindings, disturbing, executing, promote, values
from compare.hlo.bindings import UnreadableProgram
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
from workloads._framework import GRADIENTS, Program
from workloads._spec import Arrays

MOST_OPERATIONS = 1 << 14
"""Of the open regions together: where no values were matched, regions repeat one another."""
_WIDEST = 16


class RegionCalls:
    """The open regions of one pass.

    Args:
      pass_: forward or gradients.
      prepared: the workload, and the arrays that it is judged on.
      programs: TensorFlow's and the port's.
      opened: the regions.
      regions: the split that they belong to.
      dtype: the narrowest type that is computed in.

    Raises:
      UnreadableProgram: they are too large together, or XLA cannot run them.
      PromotionError: they have no float64 self.
    """

    def __init__(
        self,
        pass_: str,
        prepared: Prepared,
        programs: Pair[Program],
        opened: Sequence[Region],
        regions: Regions,
        dtype: str,
    ) -> None:
        self._regions, self._programs, self._twin = regions, programs, twin_of(prepared)
        self._base = first_inputs(self._twin, prepared.inputs)
        self._open = merge_regions(opened, regions)
        if max(map(len, self._open.graphs)) > MOST_OPERATIONS:
            raise UnreadableProgram(f"expected at most {MOST_OPERATIONS:,} operations in open regions")
        self._cut_values = _CutValues(self._regions, self._open.read)
        # A parameter has the same bits in both programs; what is computed was rounded.
        self._moves = [at is None for at in self._cut_values.positions]
        artifacts = self._open.graphs.map(lambda graph: bindings.bytecode_of_hlo(written(graph)))
        exact = promote.promote(artifacts.left)
        self._original, self._port = artifacts.map(executing.compile_bytecode)
        self._exact = executing.compile_bytecode(exact)
        self._exact_artifact = exact
        self._rounding = self._measure(pass_, dtype)

    @property
    def at_once(self) -> int:
        """How many calls one request may hold."""
        nodes = [graph.nodes[key] for graph in self._open.graphs for key in (*graph.parameters, *graph.results)]
        return max(1, MOST_BYTES // max(1, _WIDEST * sum(node.shape.elements for node in nodes)))

    def judge(self, calls: Sequence[Arrays]) -> list[Outcome]:
        """Judge each call: the outcome of its worst region.

        Args:
          calls: inputs of the programs.
        """
        taken = self._collect_inputs(calls)
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
        times = max(count_roundings(region, self._regions.graphs.left) for region in self._open.regions)
        # As of a whole program: what is lost in the rounding of an ordinary gradient is lost anyway.
        ordinary = self._results(self._collect_inputs([self._base]))[0].exact if pass_ == GRADIENTS else {}
        gradients = {f"{at}" for at, region in enumerate(self._open.regions) if region.results}
        results = {leaf: array for leaf, array in ordinary.items() if leaf.partition(".")[0] in gradients}
        return measure_rounding(dtype, times, results, digits=1.0)

    def _collect_inputs(self, calls: Sequence[Arrays]) -> list[_RegionInputs]:
        """What both sides' regions are given in each call."""
        left, right = ([arguments(program, self._twin, call) for call in calls] for program in self._programs)
        positions = [
            [graph.parameters.index(key) for key in alone]
            for graph, alone in zip(self._regions.graphs, self._open.alone, strict=True)
        ]
        return [
            _RegionInputs(shared, Pair(*([side[at] for at in own] for side, own in zip(both, positions, strict=True))))
            for shared, *both in zip(self._cut_values.each(left), left, right, strict=True)
        ]

    def _results(self, taken: Sequence[_RegionInputs]) -> list[CallResults]:
        runs = zip(
            self._original.each([[*one.shared, *one.own.left] for one in taken]),
            self._port.each([[*one.shared, *one.own.right] for one in taken]),
            self._exact.each([[widen(array) for array in (*one.shared, *one.own.left)] for one in taken]),
            strict=True,
        )
        return [CallResults(*_by_leaf(self._open, *run)) for run in runs]

    @cached_property
    def _disturbed(self) -> executing.Executable:
        """Compiled once, where a region asks for it."""
        return executing.compile_bytecode(disturbing.disturbed(self._exact_artifact, self._rounding.unit))

    def _sample(self, taken: Sequence[_RegionInputs], seed: int) -> list[Arrays]:
        """The exact values with every value moved by a rounding, those that the regions are given too."""
        runs = self._disturbed.each([self._moved(one, seed) for one in taken])
        return [_by_leaf(self._open, run, None, run)[2] for run in runs]

    def _moved(self, taken: _RegionInputs, seed: int) -> list[np.ndarray]:
        generator, unit = np.random.default_rng(seed), self._rounding.unit

        def move(array: np.ndarray) -> np.ndarray:
            return widen(array) * (1 + unit * generator.uniform(-1, 1, array.shape))

        shared = zip(taken.shared, self._moves, strict=True)
        return [
            *(move(array) if moves and is_float(array) else widen(array) for array, moves in shared),
            *map(widen, taken.own.left),
        ]


@dataclass(frozen=True)
class _RegionInputs:
    """What one call passes to the regions: values at cut points, and parameters that one program alone has."""

    shared: Sequence[np.ndarray]
    own: Pair[Sequence[np.ndarray]]


class _CutValues:
    """What TensorFlow's program has at cut points.

    Attributes:
      positions: of those that are parameters, the position; None of what is computed.
    """

    def __init__(self, regions: Regions, read: Sequence[int]) -> None:
        graph = regions.graphs.left
        self._keys = [regions.cut_points[at].nodes.left[0] for at in read]
        known = {key: at for at, key in enumerate(graph.parameters)}
        self.positions = [known.get(key) for key in self._keys]
        computed = [key for key in self._keys if key not in known]
        self._prepared = values.prepare(graph, computed) if computed else None

    def each(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        """The values of each call, in the order of the cut points.

        Args:
          calls: arguments of TensorFlow's program.
        """
        runs = self._prepared.each(calls) if self._prepared else [{} for _ in calls]
        return [
            [computed[key] if at is None else call[at] for key, at in zip(self._keys, self.positions, strict=True)]
            for call, computed in zip(calls, runs, strict=True)
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
