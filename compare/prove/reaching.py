"""How far rounding takes what a program decides by: told by its float64 self, with a disturbance in every value."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compare.hlo import deciding, disturbing
from compare.parity.measure import largest
from compare.prove.oracle import promoted
from compare.prove.own_formula import ROUNDINGS
from compare.prove.running import Running, arguments, running
from workloads._framework import STEP, WEIGHTS, Program, Twin
from workloads._spec import Arrays
from workloads._unroll import STATE, unroll

FACTOR = 4
"""Of what the disturbance does to the values of a tensor: it disturbs the results of sums, and not each term."""

MOST_VALUES = 1 << 25
"""All of a program's values that are decided by, in all choices: they travel in float64, several times."""

Values = Sequence[np.ndarray]


@dataclass(frozen=True)
class Results:
    """What a program returned.

    Attributes:
      own: its own results.
      values: that it decides by.
      turned: how many choices came out otherwise than by these.
      choices: of how many.
    """

    own: Values
    values: Values
    turned: int
    choices: int


@dataclass(frozen=True)
class Disturbed:
    """A program in float64 that decides by what it is given, as it is and with a disturbance in every value.

    Attributes:
      exact: as it is.
      moved: disturbed.
      shapes: of the values that are decided by.
      unit: by how much of itself a value is disturbed.
    """

    exact: Running
    moved: Running
    shapes: Sequence[tuple[int, ...]]
    unit: float

    @classmethod
    def of(cls, program: Program, shapes: Sequence[tuple[int, ...]], twin: Twin, unit: float) -> Disturbed:
        """Both, compiled.

        Args:
          program: in float32.
          shapes: of the values that it decides by.
          twin: the workload's arrays.
          unit: the unit roundoff that the disturbance stands for.

        Raises:
          UnreadableProgram: XLA cannot run the program apart.
          PromotionError: it has no float64 self.
        """
        widened = promoted(program)
        decided = deciding.decided(widened.artifact)
        moved = disturbing.disturbed(decided, ROUNDINGS * unit)
        exact, disturbed = (running(replace(widened, artifact=artifact), twin) for artifact in (decided, moved))
        return cls(exact, disturbed, shapes, ROUNDINGS * unit)

    def plainly(self, given: Values) -> Results:
        """The results of a call, each choice the program's own."""
        return self._results(self.exact, given, [np.zeros(shape) for shape in self.shapes], [-1.0] * len(self.shapes))

    def decided(self, given: Values, values: Values, most: Sequence[float]) -> Results:
        """The results of a call by other values.

        Args:
          given: its arguments.
          values: that are decided by.
          most: how far each may be from the program's own to stand for it.
        """
        return self._results(self.exact, given, values, most)

    def disturbed(self, given: Values, values: Values) -> Results:
        """The results of a disturbed call, each choice by these values."""
        rounded = [self._rounded(value, number) for number, value in enumerate(given)]
        return self._results(self.moved, rounded, values, [np.inf] * len(self.shapes))

    def _rounded(self, array: np.ndarray, seed: int) -> np.ndarray:
        """Disturbed as the program's own values are: where a sum cancels, what is added up has to be."""
        if array.dtype.kind != "f":
            return array
        return disturbing.disturb_array(array, self.unit, np.random.default_rng(seed))

    def _results(self, run: Running, given: Values, values: Values, most: Sequence[float]) -> Results:
        told = [argument for value, reach in zip(values, most, strict=True) for argument in (value, np.array(reach))]
        results = run.executable([*given, *told])
        own = len(run.program.results)
        flags = results[own + len(values) :]
        turned, choices = sum(int(flag.sum()) for flag in flags), sum(flag.size for flag in flags)
        return Results(results[:own], results[own : own + len(values)], turned, choices)


def apart(one: np.ndarray, two: np.ndarray) -> float:
    """The largest difference of two arrays, where both are finite."""
    counted = np.isfinite(one) & np.isfinite(two)
    return float(np.max(np.abs(np.where(counted, one, 0) - np.where(counted, two, 0)), initial=0.0))


def going_on(program: Program, given: Values, left: Arrays) -> list[np.ndarray]:
    """The arguments of a step: its batch, and what the step before left.

    Args:
      program: of a step.
      given: the arguments that another program takes.
      left: the results of the step before, by name; empty before the first.
    """
    prefixes = {"weight": WEIGHTS, "state": STATE}
    return [
        left.get(prefixes.get(parameter.kind, "") + parameter.name, array).astype(parameter.dtype, copy=False)
        for parameter, array in zip(program.parameters, given, strict=True)
    ]


@dataclass(frozen=True)
class Edges:
    """How far from its edge a value may lie, over the largest of its tensor.

    Attributes:
      by_size: by the elements of a tensor, the farthest first: programs of one model decide by tensors of equal sizes.
      elsewhere: where none has as many.
    """

    by_size: Mapping[int, Sequence[float]]
    elsewhere: float

    def of(self, size: int, count: int) -> Sequence[float]:
        """Of so many tensors of one size, the farthest first.

        Args:
          size: elements of each.
          count: of tensors. Where there are others than here, each is allowed what the farthest is.
        """
        told = self.by_size.get(size, [self.elsewhere])
        return told if len(told) == count else [told[0]] * count

    def times(self, factor: float) -> Edges:
        """So many times as far."""
        by_size = {size: [factor * reach for reach in told] for size, told in self.by_size.items()}
        return Edges(by_size, factor * self.elsewhere)


ANYWHERE = Edges({}, math.inf)


def reaches(
    program: Program, twin: Twin, pass_: str, cases: Collection[str], unit: float, checkpoints: Sequence[int] = ()
) -> Edges | None:
    """How far rounding takes what a program decides by, in any call; None where that is nothing, or too much to follow.

    Args:
      program: in float32.
      twin: the workload's arrays.
      pass_: that it computes.
      cases: that it is called on; a training run is the one of its pass.
      unit: the unit roundoff of what it computes in.
      checkpoints: of a training run, after how many steps weights are kept.

    Raises:
      UnreadableProgram: XLA cannot run the program apart.
      PromotionError: it has no float64 self.
    """
    _, shapes = deciding.watched(program.artifact)
    if not 0 < sum(map(math.prod, shapes)) <= MOST_VALUES:
        return None
    both = Disturbed.of(program, shapes, twin, unit)
    calls = _steps(both, checkpoints) if pass_ == STEP else [_call(both, twin.cases[case]) for case in cases]
    told = [FACTOR * max(of_calls) for of_calls in zip(*calls, strict=True)]
    by_size = {size: sorted((told[at] for at in those), reverse=True) for size, those in _by_size(shapes).items()}
    return Edges(by_size, max(told))


def _by_size(shapes: Sequence[tuple[int, ...]]) -> Mapping[int, Sequence[int]]:
    """The places of tensors, by their elements."""
    places: dict[int, list[int]] = {}
    for at, shape in enumerate(shapes):
        places.setdefault(math.prod(shape), []).append(at)
    return places


def _call(both: Disturbed, case: Arrays) -> list[float]:
    given = arguments(both.exact.program, both.exact.twin, case)
    plain = both.plainly(given)
    return _relative(both.disturbed(given, plain.values), plain)


def _steps(both: Disturbed, checkpoints: Sequence[int]) -> list[list[float]]:
    program, calls = both.moved.program, list[list[float]]()
    left: Arrays = {}

    def step(given: list[np.ndarray]) -> Values:
        nonlocal left
        plain = both.plainly(given)
        moved = both.disturbed(going_on(program, given, left), plain.values)
        left = program.named(moved.own)
        calls.append(_relative(moved, plain))
        return plain.own

    unroll(step, both.exact.program, both.exact.twin, checkpoints)
    return calls


def _relative(moved: Results, plain: Results) -> list[float]:
    pairs = zip(moved.values, plain.values, strict=True)
    return [apart(one, two) / (largest([two]) or 1.0) for one, two in pairs]


def within(reached: Sequence[float], values: Values, edges: Edges) -> list[float]:
    """How far from its edge each value may lie: as far as rounding takes it, and no farther than it is allowed.

    Args:
      reached: how far rounding takes each, as measured on a port's own formula.
      values: that are decided by.
      edges: of the original. The value that rounding takes farthest, of those of one size, is allowed the farthest.
    """
    scales = [largest([value]) or 1.0 for value in values]
    most = list(reached)
    for size, places in _by_size([value.shape for value in values]).items():
        farthest_first = sorted(places, key=lambda at: reached[at] / scales[at], reverse=True)
        for at, allowed in zip(farthest_first, edges.of(size, len(places)), strict=True):
            most[at] = min(reached[at], allowed * scales[at])
    return most
