"""What a port's choices beside an edge explain: float64 with each choice made as in float32, where rounding makes it.

A value within rounding of an end of relu6 may come to lie on its other side. The gradient that is taken then is right
for that side, and no rounding of the other's. So the port's own program is run twice, in float32 and, its types
widened, in float64; the second decides by the values of the first where these differ by no more than rounding
explains. What rounding explains is measured: a third run has a disturbance in every value. An unstable formula would
excuse itself by that, so no value may lie much farther from its edge than rounding takes those of the original.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compare.hlo import deciding
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import Options
from compare.hlo.promote import PromotionError
from compare.inputs.at_size import Prepared
from compare.parity import Evidence, undecided
from compare.parity.evidence import Choices
from compare.parity.holding import Leaves
from compare.parity.measure import UNIT_ROUNDOFF, wide
from compare.prove.collect import FLOAT32, Collected
from compare.prove.reaching import (
    ANYWHERE,
    FACTOR,
    MOST_VALUES,
    Disturbed,
    Edges,
    Results,
    Values,
    apart,
    going_on,
    reaches,
    within,
)
from compare.prove.running import Running, arguments, running, without_states
from workloads._framework import STEP, Program, Twin
from workloads._spec import Arrays
from workloads._unroll import unroll

LENIENCE = 4
"""As many times as far as rounding takes the original's values, those of a port may lie from their edges."""

FUSED: Mapping[bool, Options] = {True: {}, False: {"xla_disable_hlo_passes": "fusion"}}
"""XLA's options by whether operations are computed together: where they are not, each result is rounded."""


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

    @functools.cache
    def nearest(pass_: str, cases: tuple[str, ...]) -> Edges:
        original = collected["tf"].programs.get((pass_, FLOAT32)) if "tf" in collected else None
        return allowed(original, twin, pass_, cases, unit, checkpoints)

    choices: dict[tuple[str, str], tuple[Choices, ...]] = {}
    for fused, options in FUSED.items():
        runs = undecided(held, fused)
        for pass_ in sorted({pass_ for pass_, _ in runs}):
            program = collected["jax"].programs.get((pass_, FLOAT32)) if "jax" in collected else None
            cases = sorted(case for ran, case in runs if ran == pass_)
            if program is not None:
                edges = nearest(pass_, tuple(cases))
                explained = explain_by_choices(twin, program, pass_, cases, unit, checkpoints, options, edges)
                choices |= {
                    (pass_, case): (*choices.get((pass_, case), ()), of_case) for case, of_case in explained.items()
                }
    return choices


def allowed(
    original: Program | None,
    twin: Twin,
    pass_: str,
    cases: Collection[str],
    unit: float,
    checkpoints: Sequence[int] = (),
) -> Edges:
    """How far from its edge what a port decides by may lie.

    Measured on the port's own formula alone, an unstable one would excuse itself. Where the original decides by
    nothing, half of the digits have to be right.

    Args:
      original: its program in float32; None where it has none.
      twin: the workload's arrays.
      pass_: that it computes.
      cases: that it is called on.
      unit: the unit roundoff of what is computed in.
      checkpoints: of a training run, after how many steps weights are kept.
    """
    with contextlib.suppress(PromotionError, UnreadableProgram):
        told = reaches(original, twin, pass_, cases, unit, checkpoints) if original is not None else None
        if told is not None:
            return told.times(LENIENCE)
    return Edges({}, math.sqrt(unit))


def explain_by_choices(
    twin: Twin,
    program: Program,
    pass_: str,
    cases: Collection[str],
    unit: float,
    checkpoints: Sequence[int] = (),
    options: Options | None = None,
    edges: Edges = ANYWHERE,
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
      edges: how far from theirs values may lie at most.

    Raises:
      UnreadableProgram: XLA cannot run a program apart.
      PromotionError: the program has no float64 self.
    """
    watched, shapes = deciding.watched(program.artifact)
    if not 0 < sum(map(math.prod, shapes)) <= MOST_VALUES:
        return {}
    narrow = running(dataclasses.replace(program, artifact=watched), twin, options)
    together = _Together(narrow, Disturbed.of(program, shapes, twin, unit), edges)
    if pass_ == STEP:
        return dict.fromkeys(cases, _trained(together, checkpoints))
    return {case: _called(together, twin.cases[case]) for case in cases}


@dataclass(frozen=True)
class _Together:
    """A program in float32, and in float64.

    Attributes:
      narrow: it returns what it decides by.
      wide: its float64 self.
      edges: see `explain_by_choices`.
    """

    narrow: Running
    wide: Disturbed
    edges: Edges

    def step(self, narrow: Values, exact: Values, moved: Values) -> _Stepped:
        """Call all three, each with arguments of its own."""
        rounded = self.narrow.executable(narrow)
        own = len(self.narrow.program.results)
        given = [wide(value) for value in rounded[own:]]
        plain = self.wide.plainly(exact)
        disturbed = self.wide.disturbed(moved, plain.values)
        explained = [FACTOR * apart(one, two) for one, two in zip(disturbed.values, plain.values, strict=True)]
        most = within(explained, plain.values, self.edges)
        decided = self.wide.decided(exact, given, most)
        if decided.turned:
            disturbed = self.wide.disturbed(moved, list(map(_chosen, given, decided.values, most)))
        return _Stepped(rounded[:own], plain, decided, disturbed)


@dataclass(frozen=True)
class _Stepped:
    """What all three returned: the float32 program its own results, that in float64 by its own choices too."""

    narrow: Values
    plain: Results
    decided: Results
    moved: Results


def _chosen(given: np.ndarray, own: np.ndarray, most: float) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(given - own) <= most, given, own)


def _called(together: _Together, case: Arrays) -> Choices:
    """The results of one case."""
    twin = together.wide.exact.twin
    narrow, exact = (arguments(run.program, twin, case) for run in (together.narrow, together.wide.exact))
    stepped = together.step(narrow, exact, exact)
    decided, own = (_named(together, results.own) for results in (stepped.decided, stepped.plain))
    return Choices(decided, own, stepped.decided.turned, stepped.decided.choices)


def _named(together: _Together, results: Values) -> Arrays:
    program = together.wide.exact.program
    names = [result.name for result in program.results]
    return without_states(program, dict(zip(names, results, strict=True)))


def _trained(together: _Together, checkpoints: Sequence[int]) -> Choices:
    """A training run, each program going on from what it left itself."""
    program, twin, run = together.wide.exact.program, together.wide.exact.twin, _Training(together)
    arrays = unroll(run.step, program, twin, checkpoints)
    plain = unroll(lambda given: together.wide.plainly(given).own, program, twin, checkpoints)
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
        narrow, moved = self.together.narrow.program, self.together.wide.moved.program
        stepped = self.together.step(going_on(narrow, given, self._narrow), given, going_on(moved, given, self._moved))
        self._narrow, self._moved = narrow.named(stepped.narrow), moved.named(stepped.moved.own)
        self.turned += stepped.decided.turned
        self.choices += stepped.decided.choices
        return stepped.decided.own
