"""Open regions judged in the type that their programs compute in, beside TensorFlow's pieces in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np

from compare.hlo import disturbing, executing
from compare.hlo.pair import Pair
from compare.hlo.promote import promote
from compare.parity import stability
from compare.parity.breaks import Outcome
from compare.parity.measure import is_float, wide
from compare.parity.stability import BETTER, HOLDS, UNJUDGED, Rounding
from compare.prove.cut_values import CutValues
from compare.prove.open_regions import Arguments, OpenRegions, RegionGroup, RegionInputs
from compare.prove.swept_calls import CallResults, judge_calls, measure_rounding
from compare.regions.open_programs import OpenPrograms
from workloads.core.spec import Arrays
from workloads.protocol.framework import GRADIENTS

FINE = (HOLDS, BETTER, UNJUDGED)
"""The outcomes of a call in which no region breaks."""


class RegionCalls:
    """Open regions in the type that their programs compute in, beside TensorFlow's in float64.

    Args:
      base: arguments of both programs in an ordinary call.
      times: how many roundings in a row a region may take.

    Raises:
      UnreadableProgram: XLA cannot run them.
      PromotionError: they have no float64 self.
    """

    def __init__(self, pass_: str, open_regions: OpenRegions, base: Arguments, dtype: str, times: float) -> None:
        self._open_regions = open_regions
        rounding = measure_rounding(dtype, times, {}, digits=1.0)
        self._base = base if pass_ == GRADIENTS else None
        self._groups = [
            _GroupCalls(group, open_regions.cut_values, dtype, rounding, {} if pass_ == GRADIENTS else None)
            for group in open_regions.groups
        ]
        self.vanishing = rounding.at_most * rounding.unit
        """The size of a value that should vanish but for rounding, relative to its operands."""

    def judge_swept(self, calls: Sequence[Arguments], first: int) -> list[Outcome]:
        """Judge calls of a sweep: the outcome of the worst region that runs in each.

        Args:
          first: number of the first call.
        """
        return self._judge(calls, lambda group, position: group.swept_turns(first + position))

    def judge_all(self, calls: Sequence[Arguments]) -> list[Outcome]:
        """Judge calls: the outcome of the worst of all regions in each."""
        return self._judge(calls, lambda group, _: group.all_turns)

    def _judge(
        self, calls: Sequence[Arguments], choose_turns: Callable[[RegionGroup, int], Iterable[int]]
    ) -> list[Outcome]:
        inputs = self._open_regions.collect(calls, choose_turns)
        if self._base is not None:
            self._measure_floors(self._base, inputs)
        outcomes: list[list[Outcome]] = [[] for _ in calls]
        for group, of_group in zip(self._groups, inputs, strict=True):
            turns = len(of_group) // len(calls)
            for place, outcome in enumerate(group.judge(of_group)):
                outcomes[place // turns].append(outcome)
        return [stability.worst(of_call) for of_call in outcomes]

    def _measure_floors(self, base: Arguments, inputs: Sequence[Sequence[RegionInputs]]) -> None:
        """Measure what counts nothing in turns that come for the first time: the rounding of an ordinary gradient."""
        pairs = zip(self._groups, inputs, strict=True)
        missing = {id(group.group): group.find_missing(of_group) for group, of_group in pairs}
        if any(missing.values()):
            ordinary = self._open_regions.collect([base], lambda group, _: missing[id(group)])
            for group, of_group in zip(self._groups, ordinary, strict=True):
                group.measure_floors(of_group)


@dataclass(frozen=True)
class _GroupCalls:
    """One group of kinds of regions, run and judged.

    Attributes:
      group: the regions.
      cut_values: tells which of their inputs were rounded.
      dtype: the narrowest type that is computed in.
      rounding: how values are rounded.
      floors: of gradients, by turn, how values are rounded, with errors that count nothing; None of other passes.
    """

    group: RegionGroup
    cut_values: CutValues
    dtype: str
    rounding: Rounding
    floors: dict[int, Rounding] | None

    def find_missing(self, inputs: Sequence[RegionInputs]) -> list[int]:
        """The turns whose floors are not measured yet."""
        return sorted({one.turn for one in inputs} - (self.floors or {}).keys())

    def measure_floors(self, ordinary: Sequence[RegionInputs]) -> None:
        """Measure the floors of turns: an error within the rounding of an ordinary gradient counts nothing.

        Args:
          ordinary: what the regions take in them in an ordinary call.
        """
        assert self.floors is not None
        for one in ordinary:
            self.floors[one.turn] = self._measure_floor(one)

    def judge(self, inputs: Sequence[RegionInputs]) -> list[Outcome]:
        """The outcome of the worst region in each turn."""
        return [outcome for batch in self.group.batches(inputs) for outcome in self._judge_batch(batch)]

    def _judge_batch(self, inputs: Sequence[RegionInputs]) -> list[Outcome]:
        results = self._run(inputs)
        outcomes: dict[int, Outcome] = {}
        for turn in {one.turn for one in inputs}:
            places = [place for place, one in enumerate(inputs) if one.turn == turn]
            of_turn = self._judge_turn([inputs[place] for place in places], [results[place] for place in places])
            outcomes |= zip(places, of_turn, strict=True)
        return [outcomes[place] for place in range(len(inputs))]

    def _judge_turn(self, inputs: Sequence[RegionInputs], results: Sequence[CallResults]) -> list[Outcome]:
        judgements = judge_calls(
            results,
            self.rounding if self.floors is None else self.floors[inputs[0].turn],
            lambda positions, seed: self._sample([inputs[position] for position in positions], seed),
        )
        return [outcome for _, outcome in judgements]

    def _measure_floor(self, ordinary: RegionInputs) -> Rounding:
        exact = self.group.exact(ordinary.of(0))
        gradients = {f"{position}" for position, region in enumerate(self.group.turns[ordinary.turn]) if region.results}
        by_leaf = _by_leaf(self.group.programs, exact, None, exact)[2]
        results = {leaf: array for leaf, array in by_leaf.items() if leaf.partition(".")[0] in gradients}
        return measure_rounding(self.dtype, self.rounding.times, results, digits=1.0)

    @cached_property
    def _compiled(self) -> Pair[executing.Executable]:
        return self.group.artifacts.map(self.group.compile)

    @cached_property
    def _variant(self) -> executing.Executable:
        """The program with moved roundings, compiled at its first use."""
        return self.group.compile(disturbing.disturb(promote(self.group.artifacts.left), self.rounding.unit))

    def _run(self, inputs: Sequence[RegionInputs]) -> list[CallResults]:
        runs = zip(
            self._compiled.left.each([one.of(0) for one in inputs]),
            self._compiled.right.each([one.of(1) for one in inputs]),
            self.group.exact.each([one.of(0) for one in inputs]),
            strict=True,
        )
        return [CallResults(*_by_leaf(self.group.programs, *run)) for run in runs]

    def _sample(self, inputs: Sequence[RegionInputs], seed: int) -> list[Arrays]:
        """The exact values with every value, and every input, moved by a rounding."""
        runs = self._variant.each([self._move(one, seed) for one in inputs])
        return [_by_leaf(self.group.programs, run, None, run)[2] for run in runs]

    def _move(self, inputs: RegionInputs, seed: int) -> list[np.ndarray]:
        generator, unit = np.random.default_rng(seed), self.rounding.unit
        is_rounded = (not self.cut_values.is_parameter(key) for key in self.group.keys[inputs.turn])
        pairs = zip(map(_widen_as_xla, inputs.shared), is_rounded, strict=True)
        return [
            *(
                disturbing.disturb_array(array, unit, generator) if was_rounded and is_float(array) else array
                for array, was_rounded in pairs
            ),
            *map(_widen_as_xla, inputs.own.left),
        ]


def _widen_as_xla(array: np.ndarray) -> np.ndarray:
    """The array in float64, with 0 for subnormal numbers: XLA's programs for CPUs read them so."""
    if not is_float(array):
        return array
    values = wide(array)
    if array.dtype.kind == "c":
        return values
    return np.where(np.abs(values) < float(ml_dtypes.finfo(array.dtype).smallest_normal), 0.0, values)


def _by_leaf(
    programs: OpenPrograms,
    original: Sequence[np.ndarray],
    port: Sequence[np.ndarray] | None,
    exact: Sequence[np.ndarray],
) -> tuple[Arrays, Arrays, Arrays]:
    """The port's, TensorFlow's and the exact values of every region: each of its outputs beside TensorFlow's first."""
    of_original, of_port = programs.results(0), programs.results(1)
    first = {region: place for place, (region, output) in enumerate(of_original) if output == 0}
    beside = {
        f"{region}.{output}": (region, port[place] if port else None) for place, (region, output) in enumerate(of_port)
    }
    # TensorFlow may compute a cut point several times: each of these values is compared with the first.
    beside |= {
        f"{region}.tf{output}": (region, original[place])
        for place, (region, output) in enumerate(of_original)
        if output
    }
    return (
        {leaf: array for leaf, (_, array) in beside.items() if array is not None},
        {leaf: original[first[region]] for leaf, (region, _) in beside.items()},
        {leaf: exact[first[region]] for leaf, (region, _) in beside.items()},
    )
