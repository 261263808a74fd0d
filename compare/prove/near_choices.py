"""What a port's choices beside an edge explain: float64 with each choice made as in float32, where rounding makes it.

A value within rounding of an end of relu6 may come to lie on its other side. The gradient that is taken then is right
for that side, and no rounding of the other's. So the port's own program is run twice, in float32 and, its types
widened, in float64; the second decides by the values of the first where these differ by no more than rounding
explains. What rounding explains is measured: a third run has a disturbance in every value.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compare.hlo import deciding, disturbing
from compare.hlo.executing import Options
from compare.inputs.at_size import Prepared
from compare.parity import Evidence, undecided
from compare.parity.evidence import Choices
from compare.parity.holding import Leaves
from compare.parity.measure import UNIT_ROUNDOFF, largest, wide
from compare.prove.collect import FLOAT32, Collected
from compare.prove.oracle import promoted
from compare.prove.own_formula import ROUNDINGS
from compare.prove.running import Running, arguments, running, without_states
from workloads._framework import STEP, WEIGHTS, Program, Twin
from workloads._spec import Arrays
from workloads._unroll import STATE, unroll

FACTOR = 4
"""Of what the disturbance does to the values of a tensor: it disturbs the results of sums, and not each term."""

MOST_VALUES = 1 << 25
"""All of a program's values that are decided by, in all choices: they travel in float64, several times."""

FUSED: Mapping[bool, Options] = {True: {}, False: {"xla_disable_hlo_passes": "fusion"}}
"""XLA's options by whether operations are computed together: where they are not, each result is rounded."""

Values = Sequence[np.ndarray]


def choices_beside_edges(
    twin: Twin, prepared: Prepared, collected: Mapping[str, Collected], evidence: Evidence, held: Leaves
) -> Mapping[tuple[str, str], tuple[Choices, ...]]:
    """What choices of the port beside an edge explain, by pass and case: fused as in most modes, and not as in one.

    Args:
      twin: the workload's arrays.
      prepared: the workload.
      collected: what each side delivered, by side.
      evidence: tells what the port computes in.
      held: every leaf that was held against a bound.

    Raises:
      UnreadableProgram: XLA cannot run a program apart.
      PromotionError: a program has no float64 self.
    """
    training, unit = prepared.workload.training, UNIT_ROUNDOFF[evidence.computes_in or FLOAT32]
    checkpoints = training.compared if training else ()
    choices: dict[tuple[str, str], tuple[Choices, ...]] = {}
    for fused, options in FUSED.items():
        runs = undecided(held, fused)
        for pass_ in sorted({pass_ for pass_, _ in runs}):
            program = collected["jax"].programs.get((pass_, FLOAT32)) if "jax" in collected else None
            cases = sorted(case for ran, case in runs if ran == pass_)
            if program is not None:
                explained = explain_by_choices(twin, program, pass_, cases, unit, checkpoints, options)
                choices |= {
                    (pass_, case): (*choices.get((pass_, case), ()), of_case) for case, of_case in explained.items()
                }
    return choices


def explain_by_choices(
    twin: Twin,
    program: Program,
    pass_: str,
    cases: Collection[str],
    unit: float,
    checkpoints: Sequence[int] = (),
    options: Options | None = None,
    nearest: float = math.inf,
) -> Mapping[str, Choices]:
    """By case, the results in float64 with choices as the port's float32 program makes them.

    Nothing where it makes none, or more than can be followed.

    Args:
      twin: the workload's arrays.
      program: of the port, in float32.
      pass_: that it computes.
      cases: the cases to run; a training run is the one of its pass.
      unit: the unit roundoff of what the port computes in.
      checkpoints: of a training run, after how many steps weights are kept.
      options: of XLA, that the float32 program is compiled with.
      nearest: how far from its edge a value may lie at most, over the largest of its tensor: what rounding explains is
        measured on the port's own formula, which may be an unstable one.

    Raises:
      UnreadableProgram: XLA cannot run a program apart.
      PromotionError: the program has no float64 self.
    """
    watched, shapes = deciding.watched(program.artifact)
    if not 0 < sum(map(math.prod, shapes)) <= MOST_VALUES:
        return {}
    together = _Together.of(program, watched, shapes, twin, unit, options, nearest)
    if pass_ == STEP:
        return dict.fromkeys(cases, _trained(together, checkpoints))
    return {case: _called(together, twin.cases[case]) for case in cases}


@dataclass(frozen=True)
class _Together:
    """A program in float32, in float64, and in float64 with a disturbance in every value.

    Attributes:
      narrow: it returns what it decides by.
      exact: it decides by what it is given.
      moved: likewise, disturbed.
      shapes: of the values that are decided by.
      unit: by how much of itself a value is disturbed.
      nearest: see `explain_by_choices`.
    """

    narrow: Running
    exact: Running
    moved: Running
    shapes: Sequence[tuple[int, ...]]
    unit: float
    nearest: float

    @classmethod
    def of(
        cls,
        program: Program,
        watched: bytes,
        shapes: Sequence[tuple[int, ...]],
        twin: Twin,
        unit: float,
        options: Options | None,
        nearest: float,
    ) -> _Together:
        """All three, compiled."""
        widened = promoted(program)
        decided = deciding.decided(widened.artifact)
        disturbed = disturbing.disturbed(decided, ROUNDINGS * unit)
        narrow = running(dataclasses.replace(program, artifact=watched), twin, options)
        exact, moved = (
            running(dataclasses.replace(widened, artifact=artifact), twin) for artifact in (decided, disturbed)
        )
        return cls(narrow, exact, moved, shapes, ROUNDINGS * unit, nearest)

    def plainly(self, exact: Values) -> _Results:
        """The results in float64, each choice the program's own."""
        return self._results(self.exact, exact, [np.zeros(shape) for shape in self.shapes], [-1.0] * len(self.shapes))

    def step(self, narrow: Values, exact: Values, moved: Values) -> _Stepped:
        """Call all three, each with arguments of its own."""
        everything = [np.inf] * len(self.shapes)
        rounded = self.narrow.executable(narrow)
        own = len(self.narrow.program.results)
        given = [wide(value) for value in rounded[own:]]
        plain = self.plainly(exact)
        moved = [self._rounded(value, number) for number, value in enumerate(moved)]
        disturbed = self._results(self.moved, moved, plain.values, everything)
        most = [self._most(one, two) for one, two in zip(disturbed.values, plain.values, strict=True)]
        decided = self._results(self.exact, exact, given, most)
        if decided.turned:
            chosen = list(map(_chosen, given, decided.values, most))
            disturbed = self._results(self.moved, moved, chosen, everything)
        return _Stepped(rounded[:own], plain, decided, disturbed)

    def _most(self, disturbed: np.ndarray, plain: np.ndarray) -> float:
        """How far from its edge a value may lie: as far as rounding explains, and as `nearest` allows."""
        explained = FACTOR * _apart(disturbed, plain)
        return explained if math.isinf(self.nearest) else min(explained, self.nearest * largest([plain]))

    def _rounded(self, array: np.ndarray, seed: int) -> np.ndarray:
        """Disturbed as the program's own values are: where a sum cancels, what is added up has to be."""
        if array.dtype.kind != "f":
            return array
        return array * (1 + self.unit * np.random.default_rng(seed).uniform(-1, 1, array.shape))

    def _results(self, run: Running, given: Values, values: Values, most: Sequence[float]) -> _Results:
        told = [argument for value, reach in zip(values, most, strict=True) for argument in (value, np.array(reach))]
        results = run.executable([*given, *told])
        own = len(run.program.results)
        flags = results[own + len(values) :]
        turned, choices = sum(int(flag.sum()) for flag in flags), sum(flag.size for flag in flags)
        return _Results(results[:own], results[own : own + len(values)], turned, choices)


@dataclass(frozen=True)
class _Results:
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
class _Stepped:
    """What all three returned: the float32 program its own results, that in float64 by its own choices too."""

    narrow: Values
    plain: _Results
    decided: _Results
    moved: _Results


def _apart(one: np.ndarray, two: np.ndarray) -> float:
    """The largest difference of two arrays, where both are finite."""
    counted = np.isfinite(one) & np.isfinite(two)
    return float(np.max(np.abs(np.where(counted, one, 0) - np.where(counted, two, 0)), initial=0.0))


def _chosen(given: np.ndarray, own: np.ndarray, most: float) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(given - own) <= most, given, own)


def _called(together: _Together, case: Arrays) -> Choices:
    """The results of one case."""
    twin = together.exact.twin
    narrow, exact = (arguments(run.program, twin, case) for run in (together.narrow, together.exact))
    stepped = together.step(narrow, exact, exact)
    decided, own = (_named(together, results.own) for results in (stepped.decided, stepped.plain))
    return Choices(decided, own, stepped.decided.turned, stepped.decided.choices)


def _named(together: _Together, results: Values) -> Arrays:
    program = together.exact.program
    names = [result.name for result in program.results]
    return without_states(program, dict(zip(names, results, strict=True)))


def _trained(together: _Together, checkpoints: Sequence[int]) -> Choices:
    """A training run, each program going on from what it left itself."""
    program, twin, run = together.exact.program, together.exact.twin, _Training(together)
    arrays = unroll(run.step, program, twin, checkpoints)
    plain = unroll(lambda given: together.plainly(given).own, program, twin, checkpoints)
    return Choices(arrays, plain, run.turned, run.choices)


@dataclass
class _Training:
    """A run of steps.

    Attributes:
      together: the programs of a step.
      turned: how many choices came out otherwise.
      choices: of how many.
    """

    together: _Together
    turned: int = 0
    choices: int = 0
    _narrow: Arrays = field(default_factory=dict)
    _moved: Arrays = field(default_factory=dict)

    def step(self, given: list[np.ndarray]) -> Values:
        """The results of one step in float64; the other two programs go on from what they left."""
        narrow, moved = self.together.narrow.program, self.together.moved.program
        stepped = self.together.step(
            _going_on(narrow, given, self._narrow), given, _going_on(moved, given, self._moved)
        )
        self._narrow, self._moved = narrow.named(stepped.narrow), moved.named(stepped.moved.own)
        self.turned += stepped.decided.turned
        self.choices += stepped.decided.choices
        return stepped.decided.own


def _going_on(program: Program, given: Values, left: Arrays) -> list[np.ndarray]:
    """The arguments of a step: its batch, and what the step before left."""
    prefixes = {"weight": WEIGHTS, "state": STATE}
    return [
        left.get(prefixes.get(parameter.kind, "") + parameter.name, array).astype(parameter.dtype, copy=False)
        for parameter, array in zip(program.parameters, given, strict=True)
    ]
