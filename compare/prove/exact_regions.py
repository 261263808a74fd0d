"""Open regions in float64: both pieces from the same arrays, apart by no more than rounded constants explain."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo.executing import Executable
from compare.hlo.open_constants import move_constants, open_constants
from compare.hlo.pair import Pair
from compare.hlo.promote import promote
from compare.parity.holding import LARGEST_ALLOWANCE
from compare.parity.measure import SEMANTICS_BOUND, distance, is_float, largest, unlike
from compare.parity.rules import CONSTANTS_FACTOR, DOUBLE_FLOOR
from compare.prove.open_regions import Arguments, OpenRegions, RegionGroup, RegionInputs
from compare.prove.rounded_constants import PERTURBATIONS
from compare.regions.refining import NOISE

Errors = Mapping[int, float]
"""By region, an error relative to the largest value that it gives."""


def regions_hold_exactly(open_regions: OpenRegions, calls: Sequence[Arguments], scales: Sequence[float]) -> bool:
    """Whether both pieces of each region agree in float64, in each call.

    The values at cut points are those of TensorFlow's program in float64: one that follows from others follows from
    them to all digits, whichever a piece reads.

    Args:
      calls: arguments of both programs in float64.
      scales: by call, a value of which a few roundings count nothing. What vanishes but for noise, as the gradient of
        a shift before a normalization, has other noise in each program's own state.

    Raises:
      UnreadableProgram: XLA cannot run a piece.
      PromotionError: a region has no float64 self.
    """
    exact = dataclasses.replace(open_regions, cut_values=open_regions.cut_values.in_double())
    groups = [_ExactGroup(group) for group in exact.groups]
    return all(
        group.holds(inputs, DOUBLE_FLOOR * scale)
        for call, scale in zip(calls, scales, strict=True)
        for group, turns in zip(groups, exact.collect([call], lambda group, _: group.all_turns), strict=True)
        for inputs in turns
    )


@dataclass(frozen=True)
class _ExactGroup:
    """Regions that run together, both pieces in float64."""

    group: RegionGroup

    def holds(self, inputs: RegionInputs, floor: float) -> bool:
        """Whether each region agrees in one call; what constants explain is measured where one does not.

        Args:
          floor: an error that counts nothing.
        """
        results = Pair(*(self._pieces[side](inputs.in_float64(side)) for side in (0, 1)))
        errors = self._compare(inputs, results, floor)
        if max(errors.values(), default=0.0) <= SEMANTICS_BOUND:
            return True
        allowance = self._measure_allowance(inputs)
        return all(error <= SEMANTICS_BOUND + allowance[region] for region, error in errors.items())

    @cached_property
    def _pieces(self) -> Pair[Executable]:
        return self.group.artifacts.map(lambda artifact: self.group.compile(promote(artifact)))

    @cached_property
    def _open_programs(self) -> Pair[tuple[Executable, tuple[np.ndarray, ...]]]:
        """By side, its pieces with their rounded constants as parameters, and the constants."""
        programs = self.group.artifacts.map(lambda artifact: open_constants(promote(artifact)))
        return programs.map(lambda program: (self.group.compile(program.artifact), program.values))

    def _measure_allowance(self, inputs: RegionInputs) -> Errors:
        """How far rounded constants of both sides move what each region gives."""
        allowance = dict.fromkeys(range(len(self.group.programs.regions)), 0.0)
        for side, (executable, constants) in enumerate(self._open_programs):
            if not constants:
                continue
            arguments = inputs.in_float64(side)
            base = executable([*arguments, *constants])
            samples = (executable([*arguments, *move_constants(constants, seed)]) for seed in range(PERTURBATIONS))
            spreads = [self._measure_spread(side, base, sample) for sample in samples]
            for region in allowance:
                allowance[region] += CONSTANTS_FACTOR * max(spread[region] for spread in spreads)
        return {region: min(most, LARGEST_ALLOWANCE) for region, most in allowance.items()}

    def _measure_spread(self, side: int, base: Sequence[np.ndarray], sample: Sequence[np.ndarray]) -> Errors:
        spreads = dict.fromkeys(range(len(self.group.programs.regions)), 0.0)
        for (region, _), one, other in zip(self.group.programs.results(side), base, sample, strict=True):
            spreads[region] = max(spreads[region], _measure_error(one, other, floor=0.0))
        return spreads

    def _compare(self, inputs: RegionInputs, results: Pair[Sequence[np.ndarray]], floor: float) -> Errors:
        """By region, how far any value of either side is from the first of TensorFlow's."""
        programs = self.group.programs
        sizes = self.group.measure_sizes(inputs)
        of_left = zip(programs.results(0), results.left, strict=True)
        firsts = {region: array for (region, place), array in of_left if place == 0}
        errors = dict.fromkeys(range(len(programs.regions)), 0.0)
        for side, arrays in enumerate(results):
            for (region, _), array in zip(programs.results(side), arrays, strict=True):
                error = _measure_error(firsts[region], array, max(NOISE * sizes[region], floor))
                errors[region] = max(errors[region], error)
        return errors


def _measure_error(expected: np.ndarray, actual: np.ndarray, floor: float) -> float:
    """The largest difference relative to the largest value; 0 within the floor, infinite where nothing is measured."""
    if expected.shape != actual.shape:
        return np.inf
    if not is_float(expected):
        return np.inf if unlike(actual, expected).any() else 0.0
    gap = distance(actual, expected, 1.0).error
    return 0.0 if gap <= floor else gap / max(largest([expected]), np.finfo(np.float64).tiny)
