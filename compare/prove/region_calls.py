"""Open regions judged in the type that their programs compute in, beside TensorFlow's pieces in float64."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from compare.hlo import disturbing, executing
from compare.parity.breaks import Outcome
from compare.parity.measure import is_float
from compare.parity.stability import Rounding
from compare.prove.open_regions import Arguments, OpenRegions, RegionInputs
from compare.prove.placed_training import QUICKLY
from compare.prove.swept_calls import CallResults, judge_calls, measure_rounding
from compare.regions.open_programs import OpenPrograms, count_roundings
from compare.regions.sampling import widen
from workloads._framework import GRADIENTS
from workloads._spec import Arrays


class RegionCalls:
    """Open regions in the type that their programs compute in, beside TensorFlow's in float64.

    Args:
      pass_: forward or gradients.
      regions: the open ones.
      base: arguments of both programs in an ordinary call.
      dtype: the narrowest type that is computed in.

    Raises:
      UnreadableProgram: XLA cannot run them.
      PromotionError: they have no float64 self.
    """

    def __init__(self, pass_: str, regions: OpenRegions, base: Arguments, dtype: str) -> None:
        self._regions, self._base = regions, base
        self._moves = [not regions.cut_values.is_parameter(key) for key in regions.keys]
        self._original, self._port = regions.artifacts.map(executing.compile_bytecode)
        self._exact = regions.compiled_exactly
        self._rounding = self._measure(pass_, dtype)

    def judge(self, calls: Sequence[Arguments]) -> list[Outcome]:
        """Judge each call: the outcome of its worst region.

        Args:
          calls: arguments of both programs.
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
        opened, graph = self._regions.programs, self._regions.regions.graphs.left
        times = max(count_roundings(region, graph) for region in opened.regions)
        # As of a whole program: what is lost in the rounding of an ordinary gradient is lost anyway.
        results = self._ordinary_gradients() if pass_ == GRADIENTS else {}
        return measure_rounding(dtype, times, results, digits=1.0)

    def _ordinary_gradients(self) -> Arrays:
        ordinary = self._results(self._regions.collect_inputs([self._base]))[0].exact
        gradients = {f"{at}" for at, region in enumerate(self._regions.programs.regions) if region.results}
        return {leaf: array for leaf, array in ordinary.items() if leaf.partition(".")[0] in gradients}

    def _results(self, taken: Sequence[RegionInputs]) -> list[CallResults]:
        runs = zip(
            self._original.each([one.of(0) for one in taken]),
            self._port.each([one.of(1) for one in taken]),
            self._exact.each([one.widened(0) for one in taken]),
            strict=True,
        )
        return [CallResults(*_by_leaf(self._regions.programs, *run)) for run in runs]

    @cached_property
    def _disturbed(self) -> executing.Executable:
        """Compiled once, where a region asks for it."""
        disturbed = disturbing.disturbed(self._regions.exact, self._rounding.unit)
        return executing.compile_bytecode(disturbed, QUICKLY)

    def _sample(self, taken: Sequence[RegionInputs], seed: int) -> list[Arrays]:
        """The exact values with every value moved by a rounding, those that the regions are given too."""
        runs = self._disturbed.each([self._moved(one, seed) for one in taken])
        return [_by_leaf(self._regions.programs, run, None, run)[2] for run in runs]

    def _moved(self, taken: RegionInputs, seed: int) -> list[np.ndarray]:
        generator, unit = np.random.default_rng(seed), self._rounding.unit
        shared = zip(map(widen, taken.shared), self._moves, strict=True)
        return [
            *(
                disturbing.disturb_array(array, unit, generator) if moves and is_float(array) else array
                for array, moves in shared
            ),
            *map(widen, taken.own.left),
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
